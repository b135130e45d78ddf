// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// rounds runs every command once per round, in shuffled order, and returns a
// sample per command and round, in milliseconds.
func rounds(n int, cmds []*command) ([][]float64, error) {
	samples := make([][]float64, len(cmds))
	warmUp := min(10, n/4)
	for i := range n + warmUp {
		for _, c := range rand.Perm(len(cmds)) {
			ms, err := cmds[c].run()
			if err != nil {
				return nil, err
			}
			if i >= warmUp {
				samples[c] = append(samples[c], ms)
			}
		}
	}
	return samples, nil
}

// pair combines the samples of two commands round by round.
func pair(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return out
}

func minus(a, b float64) float64 { return a - b }
func over(a, b float64) float64  { return a / b }

func median(v []float64) float64 { return quantile(v, 0.5) }

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// spread says how samples lie.
type spread struct {
	Median float64 `json:"median"`
	P25    float64 `json:"p25"`
	P75    float64 `json:"p75"`
	P95    float64 `json:"p95"`
}

func spreadOf(v []float64) *spread {
	if len(v) == 0 {
		return nil
	}
	return &spread{round(median(v)), round(quantile(v, 0.25)), round(quantile(v, 0.75)), round(quantile(v, 0.95))}
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// noise is the middle half of some samples over their median.
func noise(v []float64) float64 {
	return (quantile(v, 0.75) - quantile(v, 0.25)) / median(v)
}
