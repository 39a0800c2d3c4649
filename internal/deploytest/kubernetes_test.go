//go:build external

package deploytest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/config"
)

// TestExternalKubernetes checks the manifests against the API of Kubernetes with kubeconform, and
// against what they refer to: endpoints, settings, flags, passwords, and the labels of each other.
func TestExternalKubernetes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "*.yaml"))
	if err != nil || len(files) != 7 {
		t.Fatalf("%d manifests (%v)", len(files), err)
	}
	kubeconform := filepath.Join(t.TempDir(), "kubeconform")
	run(t, "go", "build", "-modfile=deploy/kubernetes/tools.mod", "-o", kubeconform, "github.com/yannh/kubeconform/cmd/kubeconform")
	check := func(files ...string) error {
		_, err := try(kubeconform, append([]string{"-strict", "-schema-location", "deploy/kubernetes/schemas/{{.ResourceKind}}{{.KindSuffix}}.json"}, files...)...)
		return err
	}
	if err := check(files...); err != nil {
		t.Error(err)
	}
	// kubeconform reports a field that the API does not have, and a value of a wrong type.
	frontier, err := os.ReadFile(filepath.Join(root, "deploy", "kubernetes", "frontier.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for old, mistake := range map[string]string{"livenessProbe:": "liveProbe:", "replicas: 2": "replicas: two", "timeoutSeconds: 4": "timeout: 4"} {
		bad := filepath.Join(t.TempDir(), "bad.yaml")
		if err := os.WriteFile(bad, bytes.Replace(frontier, []byte(old), []byte(mistake), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if check(bad) == nil {
			t.Errorf("kubeconform has nothing to say of %s", mistake)
		}
	}

	k := manifests{t: t, keys: config.Keys()}
	for _, file := range files {
		k.read(file)
	}
	k.check()
}

// object is one object of a manifest, with the fields that these tests read.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ServiceName string `yaml:"serviceName"`
		Selector    any    // labels, or matchLabels
		PodSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct{ Containers []podContainer }
		}
	}
}

type podContainer struct {
	Name          string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	LivenessProbe, ReadinessProbe probe
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Exec    struct{ Command []string }
}

// UnmarshalYAML reads probes, which have several names in the API.
func (c *podContainer) UnmarshalYAML(n *yaml.Node) error {
	type plain podContainer
	var probes struct {
		Live  probe `yaml:"livenessProbe"`
		Ready probe `yaml:"readinessProbe"`
	}
	if err := errors.Join(n.Decode((*plain)(c)), n.Decode(&probes)); err != nil {
		return err
	}
	c.LivenessProbe, c.ReadinessProbe = probes.Live, probes.Ready
	return nil
}

type manifests struct {
	t    *testing.T
	keys []string // of our settings
	all  []object
}

func (k *manifests) read(file string) {
	k.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		k.t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			k.t.Fatalf("%s: %v", file, err)
		}
		k.all = append(k.all, o)
	}
}

func (k *manifests) check() {
	t := k.t
	t.Helper()
	credentials, err := os.ReadFile(filepath.Join(root, "deploy", "make-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	var labels []map[string]string // of pods
	services := map[string]bool{}
	kinds := map[string]int{}
	for _, o := range k.all {
		kinds[o.Kind]++
		if o.Kind == "Service" {
			services[o.Metadata.Name] = true
		}
		if l := o.Spec.Template.Metadata.Labels; l != nil {
			labels = append(labels, l)
		}
	}
	if kinds["StatefulSet"] != 3 || kinds["Deployment"] != 2 || kinds["PodDisruptionBudget"] != 5 || kinds["NetworkPolicy"] != 4 || kinds["Job"] != 1 {
		t.Errorf("the manifests have %v", kinds)
	}
	for _, o := range k.all {
		who := o.Kind + " " + o.Metadata.Name
		if o.Kind == "StatefulSet" && !services[o.Spec.ServiceName] {
			t.Errorf("%s: there is no service %q", who, o.Spec.ServiceName)
		}
		want := o.Spec.PodSelector.MatchLabels
		if selector, ok := o.Spec.Selector.(map[string]any); ok {
			if inner, ok := selector["matchLabels"].(map[string]any); ok {
				selector = inner
			}
			want = map[string]string{}
			for name, value := range selector {
				want[name], _ = value.(string)
			}
		}
		if want != nil && !slices.ContainsFunc(labels, func(l map[string]string) bool {
			for name, value := range want {
				if l[name] != value {
					return false
				}
			}
			return true
		}) {
			t.Errorf("%s selects %v, which no pod has", who, want)
		}
		for _, c := range o.Spec.Template.Spec.Containers {
			k.container(who, c, string(credentials))
		}
	}
}

// container compares a container with the program that it runs.
func (k *manifests) container(who string, c podContainer, credentials string) {
	t := k.t
	t.Helper()
	for _, e := range c.Env {
		key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(e.Name, "CURTSY_")), "_", "-")
		if strings.HasPrefix(e.Name, "CURTSY_") && !slices.Contains(k.keys, key) {
			t.Errorf("%s: %s is no setting", who, e.Name)
		}
		if secret := e.ValueFrom.SecretKeyRef; secret.Key != "" && !strings.Contains(credentials, strings.TrimSuffix(secret.Key, "_PASSWORD")) {
			t.Errorf("%s: make-credentials makes no %s", who, secret.Key)
		}
	}
	switch c.Command[0] {
	case "nats-server":
		for _, p := range []probe{c.LivenessProbe, c.ReadinessProbe} {
			if len(p.Exec.Command) != 3 || p.Exec.Command[1] != "healthcheck" || !strings.HasPrefix(p.Exec.Command[2], "http://127.0.0.1:8222/healthz") {
				t.Errorf("%s is asked by %v", who, p.Exec.Command)
			}
		}
	case "curtsy":
		run(t, program(t, "curtsy"), append([]string{c.Command[1], "--help"}, c.Args...)...)
	default:
		if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Errorf("%s is asked at %s and %s", who, c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path)
		}
		run(t, program(t, c.Command[0]), append(slices.Clone(c.Args), "--version")...)
	}
}
