// Measures the cost of each part of a batch in PostgreSQL. It writes batches of first purchases with the worker's own statements
// (Sources/Ledger), and in turn batches that lack a part. Each variant has one session and a database of its own, copied from a
// template. The result is the processor time of the session's server process, without log writing, checkpoints and vacuum.
//
// usage: RowCosts ROUNDS SIZE,SIZE… [VARIANT…]   in the environment: URI of the server without a database, SOURCES, TEMPLATE
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/jackc/pgconn"
)

// The least number of submissions in one round of a variant.
const submissionsEachRound = 64

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Returns the processor seconds of a server process.
func processorSeconds(process uint32) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", process))
	check(err)
	nanoseconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	check(err)
	return nanoseconds / 1e9
}

// A variant's database and session.
type measured struct {
	variant
	session *session
	// By size of batch: the seconds for 1,000 submissions, one value for each round.
	rounds map[int][]float64
}

func connect(ctx context.Context, uri string, chosen []variant) []*measured {
	admin, err := pgconn.Connect(ctx, uri+"/postgres")
	check(err)
	defer admin.Close(ctx)
	var all []*measured
	for index, variant := range chosen {
		database := fmt.Sprintf("row_costs_%d", index)
		for _, sql := range []string{"DROP DATABASE IF EXISTS " + database, "CREATE DATABASE " + database + " TEMPLATE " + os.Getenv("TEMPLATE")} {
			_, err := admin.Exec(ctx, sql).ReadAll()
			check(err)
		}
		all = append(all, &measured{variant, newSession(ctx, uri+"/"+database, variant), map[int][]float64{}})
	}
	return all
}

func main() {
	if len(os.Args) < 3 {
		check(fmt.Errorf("usage: RowCosts ROUNDS SIZE,SIZE… [VARIANT…]"))
	}
	rounds, err := strconv.Atoi(os.Args[1])
	check(err)
	var sizes []int
	for _, text := range strings.Split(os.Args[2], ",") {
		size, err := strconv.Atoi(text)
		check(err)
		sizes = append(sizes, size)
	}
	all := connect(context.Background(), os.Getenv("URI"), choose(os.Args[3:]))
	next := int64(1_000_000)
	// The first round warms caches and prepares statements.
	for round := 0; round <= rounds; round++ {
		for _, size := range sizes {
			batches := max(4, submissionsEachRound/size)
			for _, place := range rand.Perm(len(all)) {
				one := all[place]
				seconds := 0.0
				for number := 0; number < batches; number++ {
					seconds += one.session.write(newBatch(next+int64(number*size), size))
				}
				if round > 0 {
					one.rounds[size] = append(one.rounds[size], seconds/float64(batches*size)*1000)
				}
			}
			next += int64(batches * size)
		}
	}
	report(all, sizes)
}

func max(left, right int) int {
	if left > right {
		return left
	}
	return right
}

// Returns the value below which this share of the values lies.
func quantile(values []float64, share float64) float64 {
	sorted := append([]float64{}, values...)
	sort.Float64s(sorted)
	return sorted[int(share*float64(len(sorted)-1)+0.5)]
}

func report(all []*measured, sizes []int) {
	fmt.Print("PostgreSQL CPU s / 1,000, and to a whole batch (quartiles)")
	for _, size := range sizes {
		fmt.Printf(" | batches of %d", size)
	}
	fmt.Println()
	for _, one := range all {
		fmt.Print(one.name)
		for _, size := range sizes {
			var ratios []float64
			for round, seconds := range one.rounds[size] {
				ratios = append(ratios, seconds/all[0].rounds[size][round])
			}
			fmt.Printf(" | %.3f, %.2f (%.2f–%.2f)", quantile(one.rounds[size], 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75))
		}
		fmt.Println()
	}
}
