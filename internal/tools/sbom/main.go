// SPDX-License-Identifier: Apache-2.0

// Command sbom prints what a built sbx is made of as an SPDX 2.3 document in JSON. It
// reads the program itself, where the linker wrote each module and its sum, so that
// nothing is guessed from a source tree. The time in it is SOURCE_DATE_EPOCH, in
// seconds, or 0: two runs print the same bytes.
//
//	sbom bin/sbx >sbx.spdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []module       `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type module struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo,omitempty"`
	Download  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	License   string     `json:"licenseDeclared"`
	Checksums []checksum `json:"checksums,omitempty"`
	Refs      []ref      `json:"externalRefs,omitempty"`
	Comment   string     `json:"comment,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(path, epoch string, out io.Writer) error {
	doc, err := describe(path, epoch)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

func describe(path, epoch string) (*document, error) {
	seconds, err := strconv.ParseInt("0"+epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", epoch)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	doc := &document{Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: filepath.Base(path),
		Namespace: "https://" + info.Main.Path + "/sbom/" + sum,
		Creation:  creation{time.Unix(seconds, 0).UTC().Format(time.RFC3339), []string{"Tool: sbom"}}}
	program := packageOf(info.Main, "SPDXRef-sbx")
	program.License, program.Checksums = "Apache-2.0", []checksum{{"SHA256", sum}}
	library := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}
	doc.Packages = []module{program, packageOf(*library, "SPDXRef-stdlib")}
	for i, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		m := packageOf(*dep, fmt.Sprintf("SPDXRef-module-%d", i))
		m.Comment = "go.sum: " + dep.Sum // of a list of files, so it is no SHA-256 of an archive
		doc.Packages = append(doc.Packages, m)
	}
	doc.Relationships = []relationship{{doc.ID, "DESCRIBES", program.ID}}
	for _, m := range doc.Packages[1:] {
		doc.Relationships = append(doc.Relationships, relationship{program.ID, "CONTAINS", m.ID})
	}
	return doc, nil
}

func packageOf(m debug.Module, id string) module {
	return module{ID: id, Name: m.Path, Version: m.Version, Download: "NOASSERTION", License: "NOASSERTION",
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}}}
}
