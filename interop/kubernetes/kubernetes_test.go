package kubernetes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"lakebed/trial/campaign"
)

var deploy = filepath.Join("..", "..", "deploy", "kubernetes")

// decode reads a file of the example, whose every field must exist.
func decode[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func jobs(t *testing.T) (shards, merge batch.Job) {
	t.Helper()
	return decode[batch.Job](t, "campaign.yaml"), decode[batch.Job](t, "merge.yaml")
}

func container(t *testing.T, j batch.Job) core.Container {
	t.Helper()
	if len(j.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%s has %d containers", j.Name, len(j.Spec.Template.Spec.Containers))
	}
	return j.Spec.Template.Spec.Containers[0]
}

func variable(c core.Container, name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// TestFilesDecodeIntoTheAPITypes, and no other file is left unread. That decoding is strict is shown by a slip.
func TestFilesDecodeIntoTheAPITypes(t *testing.T) {
	shards, merge := jobs(t)
	claim := decode[core.PersistentVolumeClaim](t, "storage.yaml")
	for _, j := range []batch.Job{shards, merge} {
		if j.APIVersion != batch.SchemeGroupVersion.String() || j.Kind != "Job" || j.Name == "" {
			t.Errorf("%s %s %q", j.APIVersion, j.Kind, j.Name)
		}
	}
	if claim.APIVersion != "v1" || claim.Kind != "PersistentVolumeClaim" || !slices.Contains(claim.Spec.AccessModes, core.ReadWriteMany) {
		t.Errorf("%+v", claim)
	}
	files, err := filepath.Glob(filepath.Join(deploy, "*.yaml"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v: %v", err, files)
	}
	text, err := os.ReadFile(filepath.Join(deploy, "campaign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var slip batch.Job
	if yaml.UnmarshalStrict([]byte(strings.Replace(string(text), "completionMode:", "completionsMode:", 1)), &slip) == nil {
		t.Error("a misspelt field is not noticed")
	}
}

// TestTheShardsAreAnIndexedJob of as many completions as shards, under the rules that the API has for its fields.
func TestTheShardsAreAnIndexedJob(t *testing.T) {
	j, _ := jobs(t)
	spec, c := j.Spec, container(t, j)
	if spec.CompletionMode == nil || *spec.CompletionMode != batch.IndexedCompletion || spec.Completions == nil || spec.Parallelism == nil {
		t.Fatalf("%+v", spec)
	}
	if variable(c, "SHARDS") != strconv.Itoa(int(*spec.Completions)) {
		t.Errorf("%d completions and %s shards", *spec.Completions, variable(c, "SHARDS"))
	}
	if variable(c, "WORKERS") != c.Resources.Limits.Cpu().String() {
		t.Errorf("%s workers on %s CPUs", variable(c, "WORKERS"), c.Resources.Limits.Cpu())
	}
	// Both limits by index need an Indexed Job, and pods that the job and not the node starts again.
	if spec.BackoffLimitPerIndex == nil || spec.MaxFailedIndexes == nil || *spec.MaxFailedIndexes > *spec.Completions ||
		spec.PodFailurePolicy == nil || spec.Template.Spec.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("%+v", spec)
	}
}

// TestExitCodesMeanWhatSimrunSays: a broken promise ends its index, wrong use the job, and nothing else is given up.
func TestExitCodesMeanWhatSimrunSays(t *testing.T) {
	j, _ := jobs(t)
	actions := map[int32]batch.PodFailurePolicyAction{}
	for _, rule := range j.Spec.PodFailurePolicy.Rules {
		if (rule.OnExitCodes == nil) == (len(rule.OnPodConditions) == 0) {
			t.Errorf("a rule is of exit codes or of conditions: %+v", rule)
		}
		if rule.OnExitCodes == nil {
			if rule.Action != batch.PodFailurePolicyActionIgnore || rule.OnPodConditions[0].Type != core.DisruptionTarget || rule.OnPodConditions[0].Status != core.ConditionTrue {
				t.Errorf("%+v", rule)
			}
			continue
		}
		if name := rule.OnExitCodes.ContainerName; name == nil || *name != container(t, j).Name || rule.OnExitCodes.Operator != batch.PodFailurePolicyOnExitCodesOpIn {
			t.Errorf("%+v", rule.OnExitCodes)
		}
		for _, code := range rule.OnExitCodes.Values {
			actions[code] = rule.Action
		}
	}
	want := map[int32]batch.PodFailurePolicyAction{
		campaign.ExitBroken: batch.PodFailurePolicyActionFailIndex, campaign.ExitUsage: batch.PodFailurePolicyActionFailJob,
	}
	if len(actions) != len(want) || actions[campaign.ExitBroken] != want[campaign.ExitBroken] || actions[campaign.ExitUsage] != want[campaign.ExitUsage] {
		t.Errorf("%v, want %v", actions, want)
	}
	if _, rule := actions[campaign.ExitEnvironment]; rule {
		t.Error("a failure of the environment is to be tried again")
	}
}

// TestBothJobsShareProgramAndResults: the same image, claim and directory, mounted where the scripts look.
func TestBothJobsShareProgramAndResults(t *testing.T) {
	shards, merge := jobs(t)
	claim := decode[core.PersistentVolumeClaim](t, "storage.yaml").Name
	a, b := container(t, shards), container(t, merge)
	if a.Image != b.Image || !strings.Contains(a.Image, "@sha256:") || variable(a, "RESULTS") != variable(b, "RESULTS") {
		t.Errorf("images %s and %s, results %s and %s", a.Image, b.Image, variable(a, "RESULTS"), variable(b, "RESULTS"))
	}
	for _, j := range []batch.Job{shards, merge} {
		pod, c := j.Spec.Template.Spec, container(t, j)
		if len(pod.Volumes) != 1 || len(c.VolumeMounts) != 1 || pod.Volumes[0].Name != c.VolumeMounts[0].Name || pod.Volumes[0].PersistentVolumeClaim == nil ||
			pod.Volumes[0].PersistentVolumeClaim.ClaimName != claim || !strings.HasPrefix(variable(c, "RESULTS"), c.VolumeMounts[0].MountPath+"/") {
			t.Errorf("%s: %+v mounted at %+v", j.Name, pod.Volumes, c.VolumeMounts)
		}
		if pod.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%s restarts %s", j.Name, pod.RestartPolicy)
		}
	}
}

// script runs what a container runs, with the program in the path and some variables replaced.
func script(t *testing.T, c core.Container, bin string, replaced ...string) (code int, out string) {
	t.Helper()
	if len(c.Command) != 2 || c.Command[0] != "/bin/sh" || c.Command[1] != "-c" || len(c.Args) != 1 {
		t.Fatalf("not a script: %v %v", c.Command, c.Args)
	}
	command := exec.Command("/bin/sh", "-c", c.Args[0])
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	for _, e := range c.Env {
		command.Env = append(command.Env, e.Name+"="+e.Value)
	}
	command.Env = append(command.Env, replaced...)
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(text)
}

// TestTheScriptsRunACampaign: every index of the job, one of them twice as after an eviction, and the merge. Its sum is the
// campaign that runs in one place.
func TestTheScriptsRunACampaign(t *testing.T) {
	bin, results := t.TempDir(), filepath.Join(t.TempDir(), "results")
	program := filepath.Join(bin, "simrun")
	build := exec.Command("go", "build", "-o", program, "./cmd/simrun")
	build.Dir = filepath.Join("..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	shards, merge := jobs(t)
	const seeds = "24"
	for _, index := range []int{7, 0, 1, 2, 3, 3, 4, 5, 6} {
		code, out := script(t, container(t, shards), bin, "RESULTS="+results, "SEEDS="+seeds, "JOB_COMPLETION_INDEX="+strconv.Itoa(index))
		if code != campaign.ExitOK || !strings.Contains(out, "shard "+strconv.Itoa(index+1)+"/8") {
			t.Fatalf("index %d: exit code %d: %s", index, code, out)
		}
	}
	code, out := script(t, container(t, merge), bin, "RESULTS="+results)
	if code != campaign.ExitOK || !strings.HasPrefix(out, "PASSED: "+seeds+" seeds") {
		t.Fatalf("merge: exit code %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(results, "campaign.xml")); err != nil {
		t.Error(err)
	}
	logs, _ := filepath.Glob(filepath.Join(results, "*.jsonl"))
	merged, err := campaign.Merge(campaign.MergeOptions{Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(program, "campaign", "--seeds", seeds, "--json").Output()
	var whole campaign.Summary
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, b := whole.Timeless(), merged.Timeless()
	a.Build, b.Build = campaign.Build{}, campaign.Build{}
	if a, b := asJSON(t, a), asJSON(t, b); a != b {
		t.Errorf("merged:\n%s\nat once:\n%s", b, a)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheImageIsBuiltWithTheReleaseOfTheModule: what a trial gives depends on it.
func TestTheImageIsBuiltWithTheReleaseOfTheModule(t *testing.T) {
	dockerfile, err := os.ReadFile(filepath.Join(deploy, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(module), "\ngo ")
	version, _, _ = strings.Cut(version, "\n")
	release := strings.Join(strings.Split(version, ".")[:2], ".")
	if !strings.Contains(string(dockerfile), "\nFROM golang:"+release+" AS build\n") {
		t.Errorf("the module wants Go %s:\n%s", release, dockerfile)
	}
}
