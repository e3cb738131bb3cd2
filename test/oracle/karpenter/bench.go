package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	pscheduling "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// The load of upstream's own scheduling benchmark, as src/provision/bench_load.h has it for us: 400 types, one pool, no
// nodes; pods in five equal parts, or all alike with preferences. Timed is Solve alone, the first time on its scheduler.

func benchTypes(count int) []*cloudprovider.InstanceType {
	var ts []IType
	for i := 0; i < count; i++ {
		name := fmt.Sprintf("fake-it-%d", i)
		t := IType{
			Name:     name,
			Capacity: map[string]string{"cpu": fmt.Sprint(i + 1), "memory": fmt.Sprintf("%dGi", 2*(i+1)), "pods": fmt.Sprint(10 * (i + 1))},
			Overhead: Overhead{KubeReserved: map[string]string{"cpu": "100m", "memory": "10Mi"}},
			Requirements: []Req{
				{Key: itKey, Operator: "In", Values: []string{name}},
				{Key: archKey, Operator: "In", Values: []string{"amd64"}},
				{Key: osKey, Operator: "In", Values: []string{"linux", "windows", "darwin"}},
				{Key: zoneKey, Operator: "In", Values: []string{"test-zone-1", "test-zone-2", "test-zone-3"}},
				{Key: ctKey, Operator: "In", Values: []string{"spot", "on-demand"}},
				{Key: "integer", Operator: "In", Values: []string{fmt.Sprint(i + 1)}},
			},
		}
		price := 0.1*float64(i+1) + 0.2*float64(i+1)*1.073741824
		for _, o := range [][2]string{{"spot", "test-zone-1"}, {"spot", "test-zone-2"}, {"on-demand", "test-zone-1"}, {"on-demand", "test-zone-2"}, {"on-demand", "test-zone-3"}} {
			t.Offerings = append(t.Offerings, Offer{Price: price, Available: true, Requirements: []Req{
				{Key: ctKey, Operator: "In", Values: []string{o[0]}}, {Key: zoneKey, Operator: "In", Values: []string{o[1]}}}})
		}
		ts = append(ts, t)
	}
	return toITypes(ts)
}

type benchPods struct {
	r    *rand.Rand
	made int
}

func (b *benchPods) label() string { return string(rune('a' + b.r.Intn(7))) }

func (b *benchPods) requests() corev1.ResourceList {
	return cpuMem(pick(b.r, "100m", "250m", "500m", "1000m", "1500m"), pick(b.r, "100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi"))
}

func (b *benchPods) base(labels map[string]string) *corev1.Pod {
	b.made++
	p := pod(b.requests(), labels)
	p.ObjectMeta.Name = fmt.Sprintf("pod-%d", b.made)
	p.ObjectMeta.Namespace = "default"
	p.ObjectMeta.UID = types.UID(fmt.Sprintf("%08d", b.made))
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	return p
}

func (b *benchPods) diverse(count int) []*corev1.Pod {
	var out []*corev1.Pod
	part := count / 5
	plain := func() *corev1.Pod { return b.base(map[string]string{"my-label": b.label()}) }
	for i := 0; i < part; i++ {
		out = append(out, plain())
	}
	for _, key := range []string{zoneKey, hostKey} {
		for i := 0; i < part; i++ {
			p := plain()
			spread(p, key, 1, true, sel("my-label", b.label()))
			out = append(out, p)
		}
	}
	for i := 0; i < part; i++ {
		p := b.base(map[string]string{"my-affinity": b.label()})
		affinity(p, false, 0, zoneKey, &metav1.LabelSelector{MatchLabels: p.Labels})
		out = append(out, p)
	}
	for i := 0; i < part; i++ {
		p := b.base(map[string]string{"app": "nginx"})
		affinity(p, true, 0, hostKey, &metav1.LabelSelector{MatchLabels: p.Labels})
		out = append(out, p)
	}
	for len(out) < count {
		out = append(out, plain())
	}
	return out
}

func (b *benchPods) withWishes(count int) []*corev1.Pod {
	var out []*corev1.Pod
	req := b.requests()
	for i := 0; i < count; i++ {
		p := b.base(map[string]string{"app": "nginx"})
		p.Spec.Containers[0].Resources.Requests = req
		prefer(p, 1, expr(zoneKey, "In", "test-zone-1"))
		affinity(p, true, 10, zoneKey, sel("app", "nginx"))
		affinity(p, true, 1, hostKey, sel("app", "nginx"))
		out = append(out, p)
	}
	return out
}

func benchOnce(what string, count int) {
	b := &benchPods{r: rand.New(rand.NewSource(42))}
	var pods []*corev1.Pod
	if what == "wishes" {
		pods = b.withWishes(count)
	} else {
		pods = b.diverse(count)
	}
	np := mkPool("default")
	np.Spec.Limits = v1.Limits(corev1.ResourceList{"cpu": q("10000000"), "memory": q("10000000Gi")})
	w := newWorld(engineOptions{}, Objects{NodePools: []*v1.NodePool{np}}, map[string][]*cloudprovider.InstanceType{"default": benchTypes(400)}, baseTime)
	p := provisioning.NewProvisioner(w.client, w.rec, w.provider, w.cluster, w.clk, nil, nil)
	s, err := p.NewScheduler(w.ctx, pods, nil, sets.New[types.UID](), pscheduling.NumConcurrentReconciles(5))
	must(err)
	runtime.GC()
	var before, after syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	start := time.Now()
	res, err := s.Solve(w.ctx, pods)
	took := time.Since(start)
	must(err)
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	if len(res.PodErrors) > 0 {
		fmt.Fprintf(os.Stderr, "bench: %d pods of %d found no place\n", len(res.PodErrors), count)
		os.Exit(1)
	}
	cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	fmt.Printf("%s %d: clock %.1f ms, cpu %.1f ms, claims %d, peak %d MB\n", what, count,
		float64(took.Microseconds())/1000, float64(cpu.Microseconds())/1000, len(res.NewNodeClaims), after.Maxrss/1024)
}

// bench diverse|wishes COUNT...: one size after the other, each in a world of its own.
func bench(args []string) {
	fs := flag.NewFlagSet("bench", flag.ExitOnError)
	must(fs.Parse(args))
	if fs.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: oracle bench diverse|wishes COUNT...")
		os.Exit(2)
	}
	for _, a := range fs.Args()[1:] {
		var n int
		if _, err := fmt.Sscan(a, &n); err != nil || n < 5 {
			fmt.Fprintf(os.Stderr, "bench: '%s' is no number of pods\n", a)
			os.Exit(2)
		}
		benchOnce(fs.Arg(0), n)
	}
}
