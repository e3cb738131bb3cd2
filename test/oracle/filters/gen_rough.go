package main

// genRough puts the odd sides of all families into one long history: constraints, affinity terms both ways, node
// affinity with malformed terms, taints, ports, and nodes that change their labels while pods are on them, inside and
// outside of forks. What is counted once and then kept up to date has to survive all of it.
func genRough(g *gen) M {
	b := newBuild(g)
	b.namespaces()
	zones := g.num(1, 4)
	miss := []float64{0, 0.1, 0.3}[g.IntN(3)]
	b.mkNode = func(name string) M {
		l := g.topoLabels(zones, miss)
		if g.chance(0.5) {
			l[regionKey] = g.pick("eu", "us")
		}
		for k, v := range g.randLabels(0.15) {
			if _, has := l[k]; !has {
				l[k] = v
			}
		}
		spec := M{}
		if g.chance(0.2) {
			spec["taints"] = g.taints(2)
		}
		if g.chance(0.05) {
			spec["unschedulable"] = true
		}
		return g.node(name, l, spec)
	}
	ns := func() string { return g.pick("default", "default", "default", "other", "prod", "ghost") }
	shared := g.podLabels()
	labels := func() M {
		if g.chance(0.5) {
			out := M{}
			for k, v := range shared {
				out[k] = v
			}
			return out
		}
		return g.podLabels()
	}
	mk := func(name string, load float64) M {
		l := labels()
		spec := M{}
		aff := M{}
		if g.chance(0.3 * load) {
			aff["podAffinity"] = g.podAffinity(l)
		}
		if g.chance(0.4 * load) {
			aff["podAntiAffinity"] = g.podAffinity(l)
		}
		if g.chance(0.15 * load) {
			aff["nodeAffinity"] = g.nodeAffinity(b.cur.nodes)
		}
		if len(aff) > 0 {
			spec["affinity"] = aff
		}
		if g.chance(0.5 * load) {
			cs := A{}
			for i := g.num(1, 3); i > 0; i-- {
				c := g.spreadConstraint()
				if g.chance(0.5) && len(l) > 0 {
					c["labelSelector"] = M{"matchLabels": l}
				}
				cs = append(cs, c)
			}
			spec["topologySpreadConstraints"] = cs
		}
		if g.chance(0.3) {
			spec["tolerations"] = A{g.toleration(g.taint()), M{"operator": "Exists", "effect": g.pick(effects...)}}
		}
		if g.chance(0.1) {
			spec["nodeSelector"] = M{"pool": g.pick("blue", "green")}
		}
		if g.chance(0.15) {
			spec["containers"] = A{M{"name": "c", "ports": A{g.hostPort()}}}
		}
		return g.maybeDead(pod(ns(), name, l, spec), 0.08)
	}
	b.mkPod = func(name string) M { return mk(name, 0.7) }
	b.mkAsk = func(name string) M { return mk(name, 1) }
	b.start(g.num(2, 9), g.num(0, 15))
	b.run(g.num(20, 90))
	return b.out()
}
