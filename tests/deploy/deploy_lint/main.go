// Reads the files of deploy/ with the libraries that Docker, Compose, Kubernetes and Helm read them with, and prints what
// they say as JSON, or their complaint on stderr. No engine, no cluster, no network.
//
//	deploy_lint dockerfile FILE             the instructions, parsed as BuildKit parses them
//	deploy_lint compose FILE                the project, checked against Compose's schema and resolved
//	deploy_lint chart DIR [VALUES.yaml]     linted, rendered, and every manifest decoded strictly into Kubernetes' own types
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint/rules"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const release = "queue"

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("usage: deploy_lint dockerfile|compose|chart PATH [VALUES]"))
	}
	commands := map[string]func([]string) (any, error){"dockerfile": dockerfile, "compose": compose, "chart": renderedChart}
	command, known := commands[os.Args[1]]
	if !known {
		fail(fmt.Errorf("no command %s", os.Args[1]))
	}
	found, err := command(os.Args[2:])
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type instruction struct {
	Stage int    `json:"stage"`
	Name  string `json:"name"`
	Text  string `json:"text"`
	From  string `json:"from,omitempty"`
}

func dockerfile(words []string) (any, error) {
	file, err := os.Open(words[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	tree, err := parser.Parse(file)
	if err != nil {
		return nil, err
	}
	for _, warning := range tree.Warnings {
		return nil, fmt.Errorf("line %d: %s", warning.Location.Start.Line, warning.Short)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		return nil, err
	}
	found := []instruction{}
	for number, stage := range stages {
		found = append(found, instruction{number, "from", stage.BaseName, ""})
		for _, command := range stage.Commands {
			one := instruction{number, command.Name(), fmt.Sprint(command), ""}
			if copied, is := command.(*instructions.CopyCommand); is {
				one.From = copied.From
			}
			found = append(found, one)
		}
	}
	return found, nil
}

func compose(words []string) (any, error) {
	options, err := cli.NewProjectOptions(words[:1], cli.WithName("headrace"), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

type chartReport struct {
	Messages  []string         `json:"messages"`
	Notes     string           `json:"notes"`
	Manifests []map[string]any `json:"manifests"`
}

func renderedChart(words []string) (any, error) {
	values := map[string]any{}
	if len(words) > 1 {
		text, err := os.ReadFile(words[1])
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(text, &values); err != nil {
			return nil, err
		}
	}
	messages, err := lintChart(words[0], values)
	if err != nil {
		return nil, err
	}
	files, err := render(words[0], values)
	if err != nil {
		return nil, err
	}
	report := chartReport{Messages: messages}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, name := range sortedNames(files) {
		if strings.HasSuffix(name, "NOTES.txt") {
			report.Notes = files[name]
			continue
		}
		for _, document := range bytes.Split([]byte(files[name]), []byte("\n---")) {
			if len(bytes.TrimSpace(document)) == 0 {
				continue
			}
			if _, _, err := decoder.Decode(document, nil, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			manifest := map[string]any{}
			if err := yaml.UnmarshalStrict(document, &manifest); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			report.Manifests = append(report.Manifests, manifest)
		}
	}
	return report, nil
}

// As `helm lint`: anything above information is told; an error ends it.
func lintChart(path string, values map[string]any) ([]string, error) {
	linter := support.Linter{ChartDir: path}
	rules.Chartfile(&linter)
	rules.ValuesWithOverrides(&linter, values)
	rules.Templates(&linter, values, "default", true)
	rules.Dependencies(&linter)
	messages := []string{}
	for _, message := range linter.Messages {
		if message.Severity >= support.ErrorSev {
			return nil, message
		}
		messages = append(messages, message.Error())
	}
	return messages, nil
}

func render(path string, values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: "default", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(chart, all)
}

func sortedNames(files map[string]string) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
