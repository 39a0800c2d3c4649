package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/curtsy/curtsy/internal/version"
)

// nobody is the user and the group of the program in a container.
const nobody = 65532

// image makes a container image for Linux: an OCI image layout in a tar file, which docker load,
// podman load and skopeo read (skopeo with one of the two names, for example
// oci-archive:FILE:latest). It has one layer.
func (r *release) image(arch string, program []byte, texts []file) ([]byte, error) {
	ca, err := os.ReadFile(r.ca)
	if err != nil {
		return nil, fmt.Errorf("certificate authorities (-ca): %w", err)
	}
	files := []file{
		{name: "bin/curtsy", mode: 0o755, body: program},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: ca},
		{name: "data", mode: 0o755, uid: nobody, dir: true},
		{name: "tmp", mode: 0o1777, uid: nobody, dir: true},
	}
	for _, name := range names {
		files = append(files, file{name: "bin/" + name, mode: 0o777, link: "curtsy"})
	}
	for _, t := range texts {
		t.name = "usr/share/doc/curtsy/" + t.name
		files = append(files, t)
	}
	layer, err := tarOf(files, r.time)
	if err != nil {
		return nil, err
	}
	packed, err := gzipOf(layer)
	if err != nil {
		return nil, err
	}

	type object = map[string]any
	labels := map[string]string{
		"org.opencontainers.image.title": "curtsy", "org.opencontainers.image.description": "A polite web crawler with a search index",
		"org.opencontainers.image.version": version.Number, "org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.created": r.time.Format(time.RFC3339), "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source": "https://github.com/curtsy/curtsy",
	}
	var layout layout
	config := layout.add(object{
		"created": r.time.Format(time.RFC3339), "architecture": arch, "os": "linux",
		"config": object{
			"User": fmt.Sprintf("%d:%d", nobody, nobody), "Env": []string{"PATH=/bin"}, "WorkingDir": "/data",
			"Entrypoint": []string{"/bin/curtsy"}, "Labels": labels,
		},
		"rootfs":  object{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer)}},
		"history": []object{{"created": r.time.Format(time.RFC3339), "created_by": "curtsy deploy/release"}},
	})
	manifest := layout.add(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config":      config.as("application/vnd.oci.image.config.v1+json"),
		"layers":      []object{layout.addBytes(packed).as("application/vnd.oci.image.layer.v1.tar+gzip")},
		"annotations": labels,
	})
	// One image with two names: docker load with containerd's image store only reads this index.
	var entries []object
	for _, ref := range []string{version.Number, "latest"} {
		entry := manifest.as("application/vnd.oci.image.manifest.v1+json")
		entry["platform"] = object{"architecture": arch, "os": "linux"}
		entry["annotations"] = object{"io.containerd.image.name": "docker.io/library/curtsy:" + ref, "org.opencontainers.image.ref.name": ref}
		entries = append(entries, entry)
	}
	layout.file("index.json", object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries})
	layout.file("oci-layout", object{"imageLayoutVersion": "1.0.0"})
	// For docker load with Docker's own image store.
	layout.file("manifest.json", []object{{"Config": config.file(), "RepoTags": []string{"curtsy:" + version.Number, "curtsy:latest"}, "Layers": []string{"blobs/sha256/" + sum(packed)}}})
	return tarOf(layout.files, r.time)
}

// layout has the files of an image layout.
type layout struct{ files []file }

// blob is content that is identified by its digest.
type blob struct {
	digest string // hexadecimal
	size   int
}

func (b blob) file() string { return "blobs/sha256/" + b.digest }

// as returns the descriptor of a blob with a media type.
func (b blob) as(mediaType string) map[string]any {
	return map[string]any{"mediaType": mediaType, "digest": "sha256:" + b.digest, "size": b.size}
}

// add adds a blob of JSON.
func (l *layout) add(v any) blob { return l.addBytes(jsonOf(v)) }

func (l *layout) addBytes(body []byte) blob {
	b := blob{sum(body), len(body)}
	l.files = append(l.files, file{name: b.file(), mode: 0o644, body: body})
	return b
}

func (l *layout) file(name string, v any) {
	l.files = append(l.files, file{name: name, mode: 0o644, body: jsonOf(v)})
}

// jsonOf returns v as JSON, whose keys are sorted. The values of this program can always be
// encoded.
func jsonOf(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}
