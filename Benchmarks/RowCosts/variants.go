package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A batch that lacks something, or has it in another form.
type variant struct {
	name string
	// What of the batch's rows is left out or joined.
	withoutClaims, withoutRisk, withoutOutcomes, withoutOutbox bool
	// One row for the batch; for each of its partitions.
	outcomesByBatch, outcomesByPartition, outboxByBatch bool
	// The parts of the large statement that are left out of its text.
	without []string
	// A single statement without BEGIN and COMMIT; COMMIT in one round trip with the last statement.
	isAlone, commitsAtOnce bool
	// What the lean yardstick writes (Benchmarks/Yardstick).
	isLean bool
	// Run in the variant's database first.
	schema string
}

var rareParts = []string{"finishing", "claimed", "following", "proven"}
var allParts = append([]string{"queued", "acknowledged", "progressed"}, rareParts...)

var variants = []variant{
	{name: "whole"},
	{name: "whole, once more"},
	{name: "lean", isLean: true},
	{name: "grants alone, one statement", withoutClaims: true, withoutRisk: true, withoutOutcomes: true, withoutOutbox: true, without: allParts, isAlone: true},
	{name: "grants, claims and facts of risk", withoutOutcomes: true, withoutOutbox: true, without: allParts},
	{name: "no outbox", withoutOutbox: true, without: []string{"queued", "acknowledged"}},
	{name: "outbox by batch", outboxByBatch: true},
	{name: "no claims", withoutClaims: true},
	{name: "no outcomes", withoutOutcomes: true},
	{name: "outcomes by batch", outcomesByBatch: true},
	{name: "outcomes by batch and partition", outcomesByPartition: true},
	{name: "no facts of risk", withoutRisk: true},
	{name: "outbox and outcomes by batch, no claims", outboxByBatch: true, outcomesByBatch: true, withoutClaims: true},
	{name: "no rare parts in the statement", without: rareParts},
	{name: "no marks of progress", without: []string{"progressed"}},
	{name: "COMMIT with the last statement", commitsAtOnce: true},
	{name: "no index grants_accounts", schema: "DROP INDEX grants_accounts"},
	{name: "no index grants_originals", schema: "DROP INDEX grants_originals"},
	{name: "no index grants_days", schema: "DROP INDEX grants_days"},
	{name: "no index outbox_created", schema: "DROP INDEX outbox_created"},
	{name: "no CHECK", schema: withoutChecks},
}

const withoutChecks = `DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT conrelid::regclass AS relation, conname FROM pg_constraint
        WHERE contype = 'c' AND coninhcount = 0
            AND conrelid IN ('grants'::regclass, 'claims'::regclass, 'outcomes'::regclass, 'outbox'::regclass, 'proofs'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', one.relation, one.conname);
    END LOOP;
END
$$`

// The first is what the others are compared with. All where none is named.
func choose(names []string) []variant {
	if len(names) == 0 {
		return variants
	}
	chosen := []variant{variants[0]}
	for _, name := range names {
		found := false
		for _, one := range variants[1:] {
			if one.name == name {
				chosen, found = append(chosen, one), true
			}
		}
		if !found {
			check(fmt.Errorf("no variant is named %q", name))
		}
	}
	return chosen
}

func source(path string) string {
	text, err := os.ReadFile(filepath.Join(os.Getenv("SOURCES"), path))
	check(err)
	return string(text)
}

// The large statement's text.
func (v variant) statement() string {
	text := source("Grants/SQL/insert_grants_and_outcomes.sql")
	for _, part := range v.without {
		start := strings.Index(text, ", "+part+" AS (")
		if start < 0 {
			check(fmt.Errorf("the statement has no part %s", part))
		}
		end := strings.Index(text[start:], "(") + start + 1
		for depth := 1; depth > 0; end++ {
			switch text[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		text = text[:start] + text[end:]
	}
	return text
}
