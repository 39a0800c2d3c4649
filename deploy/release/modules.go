package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/version"
)

// modules is the build information in a program: its modules, and how it was built.
type modules struct {
	*debug.BuildInfo
	program string // its SHA-256
}

func modulesOf(program string) (modules, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return modules{}, err
	}
	body, err := os.ReadFile(program)
	if err != nil {
		return modules{}, err
	}
	for i, d := range info.Deps {
		if d.Replace != nil {
			info.Deps[i] = d.Replace
		}
	}
	slices.SortFunc(info.Deps, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return modules{info, sum(body)}, nil
}

// bill makes the software bill of materials of a program, in the format of CycloneDX 1.6.
func (r *release) bill(m modules) ([]byte, error) {
	type object = map[string]any
	self := purl("github.com/curtsy/curtsy", "v"+version.Number)
	goes := "pkg:golang/std@" + strings.TrimPrefix(m.GoVersion, "go")
	components := []object{{"type": "library", "bom-ref": goes, "name": "std", "version": m.GoVersion, "purl": goes,
		"description": "The standard library of Go"}}
	refs := []string{goes}
	for _, d := range m.Deps {
		ref := purl(d.Path, d.Version)
		c := object{"type": "library", "bom-ref": ref, "name": d.Path, "version": d.Version, "purl": ref}
		// The sum of a module in go.sum is the SHA-256 of a list of the sums of its files.
		if h, ok := strings.CutPrefix(d.Sum, "h1:"); ok {
			raw, err := base64.StdEncoding.DecodeString(h)
			if err != nil {
				return nil, fmt.Errorf("%s: sum %q: %w", d.Path, d.Sum, err)
			}
			c["hashes"] = []object{{"alg": "SHA-256", "content": hex.EncodeToString(raw)}}
		}
		components, refs = append(components, c), append(refs, ref)
	}
	settings := []object{{"name": "go:version", "value": m.GoVersion}, {"name": "vcs:revision", "value": r.commit}}
	for _, s := range m.Settings {
		settings = append(settings, object{"name": "go:build:" + s.Key, "value": s.Value})
	}
	bom := object{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": object{
			"timestamp": r.time.Format(time.RFC3339),
			"tools":     object{"components": []object{{"type": "application", "name": "curtsy deploy/release", "version": version.Number}}},
			"component": object{"type": "application", "bom-ref": self, "name": "curtsy", "version": version.Number, "purl": self,
				"hashes":   []object{{"alg": "SHA-256", "content": m.program}},
				"licenses": []object{{"license": object{"id": "Apache-2.0"}}}, "properties": settings},
		},
		"components":   components,
		"dependencies": []object{{"ref": self, "dependsOn": refs}},
	}
	id := sha256.Sum256(jsonOf(bom))
	// a UUID of version 8 (RFC 9562): made from the content of the document
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	h := hex.EncodeToString(id[:16])
	bom["serialNumber"] = "urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	var buf bytes.Buffer
	err := json.Indent(&buf, jsonOf(bom), "", "  ")
	buf.WriteByte('\n')
	return buf.Bytes(), err
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// legalFile matches the names of the files with the licence of a module.
var legalFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-_.].*)?$`)

// licences returns the texts that must be distributed with the modules, each text once.
func (m modules) licences() ([]byte, error) {
	cache, err := output("go", "env", "GOMODCACHE", "GOROOT")
	if err != nil {
		return nil, err
	}
	folder, goroot, _ := strings.Cut(strings.TrimSpace(cache), "\n")
	type holder struct{ name, dir string }
	holders := []holder{{"Go " + m.GoVersion, goroot}}
	for _, d := range m.Deps {
		holders = append(holders, holder{d.Path + " " + d.Version, filepath.Join(folder, escaped(d.Path)+"@"+escaped(d.Version))})
	}
	var order []string
	by := map[string][]string{} // which modules have a text
	for _, h := range holders {
		entries, err := os.ReadDir(h.dir)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !legalFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(h.dir, e.Name()))
			if err != nil {
				return nil, err
			}
			if by[string(text)] == nil {
				order = append(order, string(text))
			}
			by[string(text)], found = append(by[string(text)], h.name), true
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence in %s", h.name, h.dir)
		}
	}
	var all bytes.Buffer
	all.WriteString("Curtsy is under the Apache License, version 2.0 (LICENSE). It contains the following software of others.\n")
	for _, text := range order {
		fmt.Fprintf(&all, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(slices.Compact(by[text]), "\n"), strings.TrimSpace(text))
	}
	return all.Bytes(), nil
}

// escaped returns a path in the spelling of the module cache: an exclamation mark and a small
// letter stand for a capital letter.
func escaped(path string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(path, func(c string) string { return "!" + strings.ToLower(c) })
}
