package main

import (
	"encoding/json"
	"fmt"
)

// genConfig judges the cases of other families under a KubeSchedulerConfiguration of its own: disabled and reordered
// plug-ins, ignored resources, added affinity, default spread constraints with the services and owners they look at.
func genConfig(g *gen) M {
	inner := []func(*gen) M{genMixed, genResources, genNodeAffinity, genRough, genVolumes, genSpread}[g.IntN(6)](g)
	profile := M{"schedulerName": "default-scheduler"}
	if p := g.configPlugins(); len(p) > 0 {
		profile["plugins"] = p
	}
	var args A
	if g.chance(0.5) {
		a := M{}
		if g.chance(0.7) {
			a["ignoredResources"] = strs(g.some([]string{"nvidia.com/gpu", "example.com/fpga", "hugepages-2Mi", "cpu"}, g.num(1, 3)))
		}
		if g.chance(0.5) {
			a["ignoredResourceGroups"] = strs(g.some([]string{"example.com", "nvidia.com", "kubernetes.io"}, 1))
		}
		args = append(args, M{"name": "NodeResourcesFit", "args": a})
	}
	if g.chance(0.4) {
		t := g.nodeTerm([]string{"n-0", "n-1", "n-2"})
		args = append(args, M{"name": "NodeAffinity", "args": M{"addedAffinity": M{"requiredDuringSchedulingIgnoredDuringExecution": M{"nodeSelectorTerms": A{t, M{"matchExpressions": A{M{"key": zoneKey, "operator": "Exists"}}}}}}}})
	}
	if g.chance(0.5) {
		var cs A
		for _, k := range g.some([]string{zoneKey, hostKey, "rack"}, g.num(1, 2)) {
			c := M{"maxSkew": g.num(1, 2), "topologyKey": k, "whenUnsatisfiable": g.pick("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")}
			if g.chance(0.2) {
				c["nodeTaintsPolicy"] = "Honor"
			}
			cs = append(cs, c)
		}
		args = append(args, M{"name": "PodTopologySpread", "args": M{"defaultingType": "List", "defaultConstraints": cs}})
		g.owners(inner)
	}
	if args != nil {
		profile["pluginConfig"] = args
	}
	text, _ := json.Marshal(M{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": A{profile}})
	inner["config"] = string(text)
	return inner
}

// configPlugins never leaves a Filter without its PreFilter: kube-scheduler then fails every pod.
func (g *gen) configPlugins() M {
	all := []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "NodeDeclaredFeatures"}
	set := func(names []string) A {
		out := A{}
		for _, n := range names {
			out = append(out, M{"name": n})
		}
		return out
	}
	p := M{}
	if g.chance(0.4) {
		p["multiPoint"] = M{"disabled": set(g.some(all, g.num(1, 4)))}
	}
	switch y := g.Float64(); {
	case y < 0.2:
		p["filter"] = M{"disabled": set(g.some(all, g.num(1, 3)))}
	case y < 0.35:
		// Explicitly enabled ones come first, in this order.
		first := g.some(all[:6], g.num(1, 3))
		p["filter"] = M{"enabled": set(first)}
		var prepared []string
		for _, n := range first {
			if n != "NodeUnschedulable" && n != "NodeName" && n != "TaintToleration" {
				prepared = append(prepared, n)
			}
		}
		if prepared != nil {
			p["preFilter"] = M{"enabled": set(prepared)}
		}
	}
	return p
}

// owners gives pods services and controllers, which default constraints take their selector from.
func (g *gen) owners(c M) {
	objects, ok := c["objects"].(M)
	if !ok {
		objects = M{}
		c["objects"] = objects
	}
	var services, sets, stateful, controllers A
	for i, app := range apps {
		meta := M{"name": app, "namespace": "default"}
		if g.chance(0.5) {
			spec := M{"selector": M{"app": app}}
			if g.chance(0.2) {
				spec = M{}
			} else if g.chance(0.2) {
				spec["selector"] = M{}
			}
			services = append(services, M{"metadata": meta, "spec": spec})
		}
		sel := M{"matchLabels": M{"app": app}}
		if g.chance(0.3) {
			sel["matchExpressions"] = A{M{"key": "rev", "operator": g.pick("Exists", "DoesNotExist")}}
		}
		switch i {
		case 0:
			sets = append(sets, M{"metadata": meta, "spec": M{"selector": sel}})
		case 1:
			stateful = append(stateful, M{"metadata": meta, "spec": M{"selector": sel, "serviceName": "x", "template": M{}}})
		default:
			controllers = append(controllers, M{"metadata": meta, "spec": M{"selector": M{"app": app}}})
		}
	}
	for k, v := range map[string]A{"services": services, "replicaSets": sets, "statefulSets": stateful, "replicationControllers": controllers} {
		if v != nil {
			objects[k] = v
		}
	}
	kinds := []M{
		{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"},
		{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"},
		{"apiVersion": "v1", "kind": "ReplicationController", "name": "cache"},
		{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone"},
		{"apiVersion": "other/v1", "kind": "ReplicaSet", "name": "web"},
		{"apiVersion": "batch/v1", "kind": "Job", "name": "web"},
	}
	for _, st := range c["steps"].(A) {
		p, ok := st.(M)["pod"].(M)
		if !ok || !g.chance(0.8) {
			continue
		}
		md := p["metadata"].(M)
		if _, has := md["ownerReferences"]; has {
			continue
		}
		o := M{"uid": fmt.Sprintf("u-%d", g.num(0, 9)), "controller": g.chance(0.9)}
		for k, v := range kinds[g.IntN(len(kinds))] {
			o[k] = v
		}
		md["ownerReferences"] = A{o}
		if g.chance(0.6) {
			delete(p["spec"].(M), "topologySpreadConstraints")
		}
	}
}
