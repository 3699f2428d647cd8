package main

import (
	"context"

	"github.com/jackc/pgconn"
)

const leanStatement = `INSERT INTO yardstick_grants
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
    $8::timestamptz[], $9::text[], $10::timestamptz[])
ON CONFLICT (transaction_id) DO NOTHING RETURNING transaction_id`

// One session, with a worker's settings.
type session struct {
	variant
	connection *pgconn.PgConn
	statements map[string]string
	isPrepared map[string]bool
	// The outbox rows of the last batch.
	acknowledged []submission
}

func newSession(ctx context.Context, uri string, v variant) *session {
	connection, err := pgconn.Connect(ctx, uri)
	check(err)
	settings := "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"
	if v.isLean {
		settings = "SELECT 1"
	}
	for _, sql := range []string{settings, v.schema} {
		_, err := connection.Exec(ctx, sql).ReadAll()
		check(err)
	}
	return &session{
		variant: v, connection: connection, isPrepared: map[string]bool{},
		statements: map[string]string{
			"claims": source("Claims/SQL/insert_claims.sql"), "risk": source("Risk/SQL/insert_sightings_and_find_risk.sql"),
			"rows": v.statement(), "lean": leanStatement}}
}

type call struct {
	name       string
	parameters []parameter
}

// Writes the batch, and returns the processor seconds of the server process.
func (s *session) write(b batch) float64 {
	var first, last []call
	var left []submission
	if s.isLean {
		last = []call{{"lean", b.grants()[:10]}}
	} else {
		if !s.withoutClaims {
			first = append(first, call{"claims", b.claims()})
		}
		if !s.withoutRisk {
			first = append(first, call{"risk", b.risk()})
		}
		outcomes, traces := b.outcomes(s.variant)
		outbox, rows := b.outbox(s.variant)
		left = rows
		parameters := append(b.grants(), outcomes...)
		parameters = append(append(parameters, outbox...), byteas.none(), byteas.none(), texts.none(), dates.none())
		parameters = append(append(parameters, b.progress(s.variant)...), uuids.of(s.acknowledged, id), traces)
		last = []call{{"rows", parameters}}
	}
	for _, one := range append(append([]call{}, first...), last...) {
		s.prepare(one)
	}
	start := processorSeconds(s.connection.PID())
	switch {
	case s.isLean || s.isAlone:
		s.send(last)
	case s.commitsAtOnce:
		s.send(first, "BEGIN")
		s.send(last, "", "COMMIT")
	default:
		s.send(first, "BEGIN")
		s.send(last)
		s.send(nil, "COMMIT")
	}
	seconds := processorSeconds(s.connection.PID()) - start
	s.acknowledged = left
	return seconds
}

func (s *session) prepare(one call) {
	if s.isPrepared[one.name] {
		return
	}
	var oids []uint32
	for _, parameter := range one.parameters {
		oids = append(oids, parameter.oid)
	}
	_, err := s.connection.Prepare(context.Background(), one.name, s.statements[one.name], oids)
	check(err)
	s.isPrepared[one.name] = true
}

// Sends the calls in one round trip.
// - words: SQL before the calls, and SQL after them.
func (s *session) send(calls []call, words ...string) {
	batch := &pgconn.Batch{}
	if len(words) > 0 && words[0] != "" {
		batch.ExecParams(words[0], nil, nil, nil, nil)
	}
	for _, one := range calls {
		var values [][]byte
		var formats []int16
		for _, parameter := range one.parameters {
			values = append(values, parameter.value)
			formats = append(formats, 1)
		}
		batch.ExecPrepared(one.name, values, formats, []int16{1})
	}
	if len(words) > 1 {
		batch.ExecParams(words[1], nil, nil, nil, nil)
	}
	_, err := s.connection.ExecBatch(context.Background(), batch).ReadAll()
	check(err)
}
