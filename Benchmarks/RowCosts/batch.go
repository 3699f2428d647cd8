package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"time"
)

const (
	bundle     = "com.example.benchmark"
	topic      = "receipt-submissions"
	partitions = 64
	// A trace as a worker writes it, with 236 bytes.
	story = `{"proof":"receipt_data","signature":"proven","source":"apple","catalog":1,"product":"com.example.benchmark.gold",` +
		`"order":"o-17","device":"device-17","currency":"USD","tries":[[1795849783451,"verifyReceipt","Production","genuine",0,57]]}`
)

var event = []byte(strings.Repeat(story, 3))[:633]

// A submission of a first purchase.
type submission struct {
	transaction, player string
	// Stands for every hash and id that the submission needs.
	digest    []byte
	partition int
	offset    int64
}

func (s submission) id() []byte { return s.digest[:16] }

// A batch of submissions, in the orders in which the worker writes its rows.
type batch struct {
	byTransaction, byRecord, byEvent []submission
}

func newBatch(first int64, size int) batch {
	var all []submission
	for number := first; number < first+int64(size); number++ {
		// Apple's ids do not simply ascend.
		transaction := fmt.Sprintf("4%014d", number*7919%100_000_000_000)
		digest := sha256.Sum256([]byte(transaction))
		all = append(all, submission{
			transaction: transaction, player: "player-" + transaction[6:], digest: digest[:],
			partition: int(digest[31]) % partitions, offset: number / partitions})
	}
	sorted := func(isLess func(left, right submission) bool) []submission {
		copied := append([]submission{}, all...)
		sort.Slice(copied, func(i, j int) bool { return isLess(copied[i], copied[j]) })
		return copied
	}
	return batch{
		byTransaction: sorted(func(l, r submission) bool { return l.transaction < r.transaction }),
		byRecord: sorted(func(l, r submission) bool {
			return l.partition < r.partition || l.partition == r.partition && l.offset < r.offset
		}),
		byEvent: sorted(func(l, r submission) bool { return bytes.Compare(l.id(), r.id()) < 0 })}
}

// A parameter in PostgreSQL's binary form.
type parameter struct {
	oid   uint32
	value []byte
}

func int4(value int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(value)) }
func int8(value int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(value)) }

type arrayType struct{ array, element uint32 }

var (
	texts      = arrayType{1009, 25}
	byteas     = arrayType{1001, 17}
	int4s      = arrayType{1007, 23}
	int8s      = arrayType{1016, 20}
	timestamps = arrayType{1185, 1184}
	uuids      = arrayType{2951, 2950}
	bools      = arrayType{1000, 16}
	dates      = arrayType{1182, 1082}
)

// Returns an array with an element for each row. A nil element is null.
func (t arrayType) of(rows []submission, element func(submission) []byte) parameter {
	if len(rows) == 0 {
		return parameter{t.array, bytes.Join([][]byte{int4(0), int4(0), int4(int32(t.element))}, nil)}
	}
	value := bytes.Join([][]byte{int4(1), int4(1), int4(int32(t.element)), int4(int32(len(rows))), int4(1)}, nil)
	for _, row := range rows {
		if one := element(row); one == nil {
			value = append(value, int4(-1)...)
		} else {
			value = append(append(value, int4(int32(len(one)))...), one...)
		}
	}
	return parameter{t.array, value}
}

func (t arrayType) none() parameter { return t.of(nil, nil) }

func same(value []byte) func(submission) []byte { return func(submission) []byte { return value } }
func text(value string) func(submission) []byte { return same([]byte(value)) }

func transaction(s submission) []byte { return []byte(s.transaction) }
func player(s submission) []byte      { return []byte(s.player) }
func name(s submission) []byte        { return []byte("s-" + s.transaction) }
func id(s submission) []byte          { return s.id() }
func digest(s submission) []byte      { return s.digest }
func partition(s submission) []byte   { return int4(int32(s.partition)) }
func offset(s submission) []byte      { return int8(s.offset) }

const epochDay = 10_957

var now = time.Now().UTC()
var stamp = int8(now.UnixMicro() - epochDay*86_400_000_000)
var today = int4(int32(now.Unix()/86_400) - epochDay)
var midnight = int8(now.Truncate(24*time.Hour).UnixMicro() - epochDay*86_400_000_000)

func (b batch) claims() []parameter {
	rows := b.byTransaction
	return []parameter{texts.of(rows, transaction), texts.of(rows, player), texts.of(rows, text(bundle)), texts.of(rows, same(nil))}
}

func (b batch) risk() []parameter {
	rows := b.byTransaction
	device := func(s submission) []byte { return []byte("device-" + s.transaction) }
	since := int4(int32(now.Unix()/86_400) - epochDay - 29)
	return []parameter{
		texts.of(rows, text(bundle)), texts.of(rows, device), texts.of(rows, player), dates.of(rows, same(today)),
		timestamps.of(rows, same(midnight)), {20, int8(10)}, dates.of(rows, same(since)), {20, int8(30)}}
}

func (b batch) grants() []parameter {
	rows := b.byTransaction
	return []parameter{
		texts.of(rows, transaction), texts.of(rows, transaction), texts.of(rows, player), texts.of(rows, text(bundle)),
		texts.of(rows, text(bundle+".gold")), int4s.of(rows, same(int4(1))), texts.of(rows, text("Production")),
		timestamps.of(rows, same(stamp)), texts.of(rows, name), timestamps.of(rows, same(stamp)),
		uuids.of(rows, id), texts.of(rows, text("consumable")), timestamps.none(), byteas.of(rows, same(event)),
		int8s.of(rows, same(int8(1))), bools.of(rows, same([]byte{0})), texts.none(),
		int8s.none(), texts.none(), texts.none(), int4s.none(), texts.none(), texts.none(), bools.none(),
		texts.none(), texts.none(), texts.none(), uuids.none(), texts.none(), texts.none(), texts.none()}
}

// Returns the outcomes of the rows, and their traces, which are the statement's last parameter.
func (b batch) outcomes(v variant) ([]parameter, parameter) {
	rows := b.byRecord
	// The joined content, which the first row of several has.
	joined := map[string][]byte{}
	if v.withoutOutcomes {
		rows = nil
	} else if v.outcomesByBatch || v.outcomesByPartition {
		rows = nil
		for _, row := range b.byRecord {
			content := bytes.Join([][]byte{[]byte(story), transaction(row), player(row), name(row), digest(row), id(row), offset(row)}, nil)
			last := len(rows) - 1
			if last < 0 || v.outcomesByPartition && rows[last].partition != row.partition {
				rows = append(rows, row)
				last++
			}
			joined[rows[last].transaction] = append(joined[rows[last].transaction], content...)
		}
	}
	granted := func(s submission) []byte {
		if joined[s.transaction] != nil {
			return []byte("{}")
		}
		return []byte(`{"` + s.transaction + `"}`)
	}
	trace := func(s submission) []byte {
		if joined[s.transaction] != nil {
			return nil
		}
		return []byte(story)
	}
	return []parameter{
		dates.of(rows, same(today)), texts.of(rows, text(topic)), int4s.of(rows, partition), int8s.of(rows, offset), byteas.of(rows, id),
		uuids.of(rows, id), texts.of(rows, name), texts.of(rows, player), texts.of(rows, text(bundle)), byteas.of(rows, digest),
		texts.of(rows, granted), byteas.of(rows, func(s submission) []byte { return joined[s.transaction] }), timestamps.of(rows, same(stamp)),
	}, texts.of(rows, trace)
}

// Returns the parameters of the outbox, and its rows, which a later batch deletes as acknowledged.
func (b batch) outbox(v variant) ([]parameter, []submission) {
	rows := b.byEvent
	var content []byte
	if v.withoutOutbox {
		rows = nil
	} else if v.outboxByBatch {
		for _, row := range rows {
			content = bytes.Join([][]byte{content, id(row), transaction(row), player(row)}, nil)
		}
		rows = rows[:1]
	}
	ofGrant := func(s submission) []byte {
		if content != nil {
			return nil
		}
		return transaction(s)
	}
	return []parameter{
		uuids.of(rows, id), texts.of(rows, text(topic)), int4s.of(rows, partition), int4s.of(rows, same(int4(0))), texts.of(rows, player),
		texts.of(rows, same(nil)), texts.of(rows, ofGrant), byteas.of(rows, same(content)),
	}, rows
}

func (b batch) progress(v variant) []parameter {
	var rows []submission
	for _, row := range b.byRecord {
		if last := len(rows) - 1; last >= 0 && rows[last].partition == row.partition {
			rows[last] = row
		} else {
			rows = append(rows, row)
		}
	}
	return []parameter{texts.of(rows, text(topic)), int4s.of(rows, partition), int4s.of(rows, same(int4(1))), int8s.of(rows, offset)}
}
