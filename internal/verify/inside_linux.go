package verify

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// Here verifies the sandbox that this process runs in, by its manifest.
func Here(m *Manifest, homes []string) (*Report, error) {
	nonce, err := random()
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dirs := append([]string{cwd}, homes...)
	site := inside(m, os.Geteuid(), nonce, cwd, candidates(dirs...), homes, func(path string) string { return Look(path).Kind })
	site.Own = Own{Manifest: host.ManifestDir + "/policy.json", Dir: host.ManifestDir}
	if site.Walls {
		site.Own = Own{Manifest: runManifest, Dir: runDir}
		for _, path := range hostDevices {
			if permitted(path, unix.R_OK) {
				site.Devices = append(site.Devices, path)
			}
		}
	}
	checks := site.Checks()
	answers := AnswerHere(Number(checks))
	return &Report{Profiles: m.Profiles, Place: cwd, Inside: true, Results: Evaluate(checks, answers)}, nil
}
