package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A batch that lacks a part, or has a part in another form.
type variant struct {
	name string
	// The rows that the batch leaves out.
	withoutClaims, withoutRisk, withoutOutcomes, withoutOutbox bool
	// Whether the batch has one row in place of many: one for the batch, or one for each of its partitions.
	outcomesByBatch, outcomesByPartition, outboxByBatch bool
	// The parts that the text of the large statement leaves out.
	without []string
	// Whether a single statement runs without BEGIN and COMMIT; whether COMMIT shares a round trip with the last statement.
	isAlone, commitsAtOnce bool
	// Whether the batch writes the rows of the lean yardstick (Benchmarks/Yardstick).
	isLean bool
	// SQL that runs first in the variant's database.
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

// Returns the named variants, after the first variant, with which the report compares them; all variants if none is named.
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

// Returns the text of the large statement.
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
