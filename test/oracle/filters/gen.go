package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sort"
	"strings"
)

// M and A are plain JSON objects and arrays: cases are written field by field, so
// an absent field, an empty object and a null stay three different things.
type M = map[string]any
type A = []any

type gen struct {
	*rand.Rand
}

func (g *gen) chance(p float64) bool     { return g.Float64() < p }
func (g *gen) num(lo, hi int) int        { return lo + g.IntN(hi-lo+1) }
func (g *gen) pick(xs ...string) string  { return xs[g.IntN(len(xs))] }
func (g *gen) pickInt(xs ...int64) int64 { return xs[g.IntN(len(xs))] }
func (g *gen) some(xs []string, k int) []string {
	p := g.Perm(len(xs))
	if k > len(xs) {
		k = len(xs)
	}
	out := make([]string, 0, k)
	for _, i := range p[:k] {
		out = append(out, xs[i])
	}
	sort.Strings(out)
	return out
}

// length of a history: 1 to max, short ones more often.
func (g *gen) length(max int) int { return min(g.num(1, max), g.num(2, max)) }

func strs(xs []string) A {
	out := A{}
	for _, x := range xs {
		out = append(out, x)
	}
	return out
}

type placed struct{ key, node string }

type simState struct {
	nodes []string
	pods  []placed
}

func (s simState) copy() simState {
	return simState{append([]string(nil), s.nodes...), append([]placed(nil), s.pods...)}
}

// build assembles one case; the three makers are what a family provides.
type build struct {
	*gen
	nodes, pods, steps A
	objects            M
	cur                simState
	stack              []simState
	mkNode             func(name string) M
	mkPod              func(name string) M
	mkAsk              func(name string) M
	asked              []M
	nodeSeq, podSeq    int
}

func newBuild(g *gen) *build {
	b := &build{gen: g, objects: M{}}
	b.mkNode = func(n string) M { return b.node(n, nil, nil) }
	b.mkPod = func(n string) M { return pod("default", n, nil, nil) }
	b.mkAsk = func(n string) M { return pod("default", n, nil, nil) }
	return b
}

func podKey(p M) string {
	m := p["metadata"].(M)
	return m["namespace"].(string) + "/" + m["name"].(string)
}

func clone(m M) M {
	b, _ := json.Marshal(m)
	var out M
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	_ = d.Decode(&out)
	return out
}

func (b *build) start(nodes, pods int) {
	for i := 0; i < nodes; i++ {
		name := fmt.Sprintf("n-%d", b.nodeSeq)
		b.nodeSeq++
		b.nodes = append(b.nodes, b.mkNode(name))
		b.cur.nodes = append(b.cur.nodes, name)
	}
	for i := 0; i < pods && nodes > 0; i++ {
		p := b.mkPod(fmt.Sprintf("p-%d", b.podSeq))
		b.podSeq++
		n := b.cur.nodes[b.IntN(len(b.cur.nodes))]
		p["spec"].(M)["nodeName"] = n
		b.pods = append(b.pods, p)
		b.cur.pods = append(b.cur.pods, placed{podKey(p), n})
	}
}

func (b *build) ask() {
	if len(b.asked) > 0 && b.chance(0.52) {
		b.steps = append(b.steps, M{"op": "ask", "pod": b.asked[b.IntN(len(b.asked))]})
		return
	}
	p := b.mkAsk(fmt.Sprintf("ask-%d", len(b.asked)))
	b.asked = append(b.asked, p)
	b.steps = append(b.steps, M{"op": "ask", "pod": p})
}

func (b *build) run(n int) {
	b.ask()
	for len(b.steps) < n {
		if len(b.stack) > 0 && b.chance(0.16) {
			if b.chance(0.65) {
				b.revert()
			} else {
				b.commit()
			}
			if b.chance(0.6) {
				b.ask()
			}
			continue
		}
		switch x := b.Float64(); {
		case x < 0.48:
			b.ask()
		case x < 0.68:
			b.place()
		case x < 0.76:
			b.removePod()
		case x < 0.80:
			name := fmt.Sprintf("n-%d", b.nodeSeq)
			b.nodeSeq++
			b.steps = append(b.steps, M{"op": "addNode", "node": b.mkNode(name)})
			b.cur.nodes = append(b.cur.nodes, name)
		case x < 0.83:
			b.removeNode()
		case x < 0.86:
			b.updateNode()
		default:
			if len(b.stack) < 4 {
				b.stack = append(b.stack, b.cur.copy())
				b.steps = append(b.steps, M{"op": "fork"})
			}
		}
	}
	if last := b.steps[len(b.steps)-1].(M); last["op"] != "ask" {
		b.ask()
	}
}

func (b *build) revert() {
	if len(b.stack) > 0 {
		b.cur, b.stack = b.stack[len(b.stack)-1], b.stack[:len(b.stack)-1]
		b.steps = append(b.steps, M{"op": "revert"})
	}
}

func (b *build) commit() {
	if len(b.stack) > 0 {
		b.stack = b.stack[:len(b.stack)-1]
		b.steps = append(b.steps, M{"op": "commit"})
	}
}

func (b *build) place() {
	if len(b.cur.nodes) == 0 {
		return
	}
	var p M
	if len(b.asked) > 0 && b.chance(0.4) {
		p = clone(b.asked[b.IntN(len(b.asked))])
		if b.has(podKey(p)) {
			return
		}
		delete(p["spec"].(M), "nodeName")
	} else {
		p = b.mkPod(fmt.Sprintf("p-%d", b.podSeq))
		b.podSeq++
	}
	n := b.cur.nodes[b.IntN(len(b.cur.nodes))]
	b.cur.pods = append(b.cur.pods, placed{podKey(p), n})
	b.steps = append(b.steps, M{"op": "place", "pod": p, "node": n})
}

func (b *build) has(key string) bool {
	for _, p := range b.cur.pods {
		if p.key == key {
			return true
		}
	}
	return false
}

func (b *build) removePod() {
	if len(b.cur.pods) == 0 {
		return
	}
	i := b.IntN(len(b.cur.pods))
	k := b.cur.pods[i].key
	b.cur.pods = append(b.cur.pods[:i:i], b.cur.pods[i+1:]...)
	b.steps = append(b.steps, M{"op": "remove", "pod": k})
}

func (b *build) removeNode() {
	if len(b.cur.nodes) < 2 {
		return
	}
	i := b.IntN(len(b.cur.nodes))
	n := b.cur.nodes[i]
	b.cur.nodes = append(b.cur.nodes[:i:i], b.cur.nodes[i+1:]...)
	var kept []placed
	for _, p := range b.cur.pods {
		if p.node != n {
			kept = append(kept, p)
		}
	}
	b.cur.pods = kept
	b.steps = append(b.steps, M{"op": "removeNode", "node": n})
}

func (b *build) updateNode() {
	if len(b.cur.nodes) == 0 {
		return
	}
	n := b.cur.nodes[b.IntN(len(b.cur.nodes))]
	b.steps = append(b.steps, M{"op": "updateNode", "node": b.mkNode(n)})
}

func (b *build) out() M {
	c := M{"nodes": b.nodes, "steps": b.steps}
	if b.nodes == nil {
		c["nodes"] = A{}
	}
	if len(b.pods) > 0 {
		c["pods"] = b.pods
	}
	if len(b.objects) > 0 {
		c["objects"] = b.objects
	}
	return c
}

func (b *build) addObj(kind string, o M) {
	l, _ := b.objects[kind].(A)
	b.objects[kind] = append(l, o)
}

// node makes a roomy node with a hostname label.
func (g *gen) node(name string, labels M, spec M) M {
	l := M{"kubernetes.io/hostname": name}
	for k, v := range labels {
		if v == nil {
			delete(l, k)
		} else {
			l[k] = v
		}
	}
	n := M{"metadata": M{"name": name, "labels": l},
		"status": M{"allocatable": M{"cpu": "64", "memory": "256Gi", "pods": "110"}}}
	if len(spec) > 0 {
		n["spec"] = spec
	}
	return n
}

func pod(ns, name string, labels M, spec M) M {
	md := M{"name": name, "namespace": ns}
	if len(labels) > 0 {
		md["labels"] = labels
	}
	s := M{"containers": A{M{"name": "c"}}}
	for k, v := range spec {
		s[k] = v
	}
	return M{"metadata": md, "spec": s}
}

const (
	zoneKey   = "topology.kubernetes.io/zone"
	regionKey = "topology.kubernetes.io/region"
	hostKey   = "kubernetes.io/hostname"
)

type family struct {
	name string
	fn   func(g *gen) M
}

var families = []family{
	{"resources", genResources},
	{"extremes", genExtremes},
	{"taints", genTaints},
	{"nodeaffinity", genNodeAffinity},
	{"unschedulable", genUnschedulable},
	{"nodename", genNodeName},
	{"hostports", genHostPorts},
	{"spread", genSpread},
	{"interpod", genInterPod},
	{"volumes", genVolumes},
	{"volumelimits", genVolumeLimits},
	{"storage", genStorage},
	{"features", genFeatures},
	{"rough", genRough},
	{"config", genConfig},
	{"mixed", genMixed},
	{"forks", genForks},
	{"large", genLarge},
	{"dra", genDRA},
	{"quirks", nil},
	{"quantity", nil},
	{"selector", nil},
	{"podRequests", nil},
}

func rngFor(fam string, seed int64, i int) *gen {
	h := fnv.New64a()
	h.Write([]byte(fam))
	return &gen{rand.New(rand.NewPCG(h.Sum64()+uint64(i)*0x9E3779B97F4A7C15, uint64(seed)))}
}

func generate(w io.Writer, fam string, seed int64, n int) error {
	bw := bufio.NewWriter(w)
	defer bw.Flush()
	enc := json.NewEncoder(bw)
	enc.SetEscapeHTML(false)
	for i := 0; i < n; i++ {
		g := rngFor(fam, seed, i)
		var c M
		switch fam {
		case "quantity":
			c = genQuantity(g, i, seed)
		case "selector":
			c = genSelector(g)
		case "podRequests":
			c = genPodRequests(g)
		case "quirks":
			if c = genQuirks(i); c == nil {
				return nil
			}
		default:
			found := false
			for _, f := range families {
				if f.name == fam {
					c, found = f.fn(g), true
				}
			}
			if !found {
				var names []string
				for _, f := range families {
					names = append(names, f.name)
				}
				return fmt.Errorf("unknown family %q; known: %s", fam, strings.Join(names, " "))
			}
		}
		c["name"] = fmt.Sprintf("%s/%d", fam, i)
		c["seed"] = seed
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	return nil
}
