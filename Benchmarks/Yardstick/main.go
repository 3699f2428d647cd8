// A yardstick for receiptd: a simple worker in Go that does the main work of submissions in batches.
//
// It reads submissions from Kafka, asks Apple, writes many grants and outbox rows in one SQL transaction, publishes the events, and
// then commits offsets. It keeps none of receiptd's promises: it proves, judges, holds, retries, recalls and counts nothing, keeps no
// order per player, and ends at any unexpected error. docs/benchmarks.md compares it with receiptd.
//
// YARDSTICK=lean leaves out the outbox: it writes one row for each grant, publishes the event, and commits the offset. If it dies
// between the write and the publication, the event is lost.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/confluentinc/confluent-kafka-go/kafka"
	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

type submission struct {
	SubmissionID string `json:"submission_id"`
	PlayerID     string `json:"player_id"`
	BundleID     string `json:"bundle_id"`
	ReceiptData  string `json:"receipt_data"`
	ProductID    string `json:"product_id"`
}

type purchase struct {
	TransactionID         string `json:"transaction_id"`
	OriginalTransactionID string `json:"original_transaction_id"`
	ProductID             string `json:"product_id"`
	Quantity              string `json:"quantity"`
	PurchaseDateMS        string `json:"purchase_date_ms"`
}

type answer struct {
	Status      int    `json:"status"`
	Environment string `json:"environment"`
	Receipt     struct {
		BundleID string     `json:"bundle_id"`
		BID      string     `json:"bid"`
		InApp    []purchase `json:"in_app"`
		purchase
	} `json:"receipt"`
}

type event struct {
	EventID               string `json:"event_id"`
	Type                  string `json:"type"`
	SubmissionID          string `json:"submission_id"`
	PlayerID              string `json:"player_id"`
	BundleID              string `json:"bundle_id"`
	ProductID             string `json:"product_id"`
	TransactionID         string `json:"transaction_id"`
	OriginalTransactionID string `json:"original_transaction_id"`
	Quantity              int    `json:"quantity"`
	Environment           string `json:"environment"`
	PurchasedAt           string `json:"purchased_at"`
	GrantedAt             string `json:"granted_at,omitempty"`
	Reason                string `json:"reason,omitempty"`
}

// A decided submission on its way to PostgreSQL and back to Kafka.
type work struct {
	submission submission
	purchase   purchase
	isGranted  bool
	event      event
	bytes      []byte
	message    *kafka.Message
}

// Tracks unfinished records: it commits no offset beyond the first unfinished record of a partition.
type tracker struct {
	mutex sync.Mutex
	open  map[int32][]int64
	done  map[int32]map[int64]bool
}

func (t *tracker) start(m *kafka.Message) {
	t.mutex.Lock()
	p := m.TopicPartition.Partition
	t.open[p] = append(t.open[p], int64(m.TopicPartition.Offset))
	t.mutex.Unlock()
}

func (t *tracker) finish(m *kafka.Message) {
	t.mutex.Lock()
	p := m.TopicPartition.Partition
	if t.done[p] == nil {
		t.done[p] = map[int64]bool{}
	}
	t.done[p][int64(m.TopicPartition.Offset)] = true
	t.mutex.Unlock()
}

func (t *tracker) committable(topic string) []kafka.TopicPartition {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var result []kafka.TopicPartition
	for p, open := range t.open {
		n := 0
		for n < len(open) && t.done[p][open[n]] {
			delete(t.done[p], open[n])
			n++
		}
		if n > 0 {
			result = append(result, kafka.TopicPartition{
				Topic: &topic, Partition: p, Offset: kafka.Offset(open[n-1] + 1)})
			t.open[p] = open[n:]
		}
	}
	return result
}

const (
	inFlight  = 2048
	batchRows = 500
	writers   = 2
	// The lock lets one worker at a time create the tables: CREATE TABLE IF NOT EXISTS can fail beside a second one.
	schemaText = `
SELECT pg_advisory_xact_lock(1);
CREATE TABLE IF NOT EXISTS yardstick_grants (
    transaction_id text PRIMARY KEY, original_transaction_id text, player_id text NOT NULL, bundle_id text NOT NULL,
    product_id text NOT NULL, quantity integer NOT NULL, environment text NOT NULL, purchased_at timestamptz,
    submission_id text NOT NULL, granted_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS yardstick_outbox (
    event_id text PRIMARY KEY, player_id text NOT NULL, event bytea NOT NULL, created_at timestamptz NOT NULL DEFAULT now());`
)

var client *http.Client

// Whether each event has a row in the outbox until its publication; false with YARDSTICK=lean.
var keepsOutbox = true

// Whether receipts may be other than genuine purchases; true with YARDSTICK_REJECTS=yes. Otherwise such a receipt ends the
// program, so that no fault of a run looks like speed.
var mayReject = os.Getenv("YARDSTICK_REJECTS") == "yes"

// The time in which a batch gathers, while PostgreSQL writes the batch before. YARDSTICK_GATHER sets another time, such as 16ms.
var gatherTime = 4 * time.Millisecond

func main() {
	if text := os.Getenv("YARDSTICK_GATHER"); text != "" {
		var err error
		gatherTime, err = time.ParseDuration(text)
		check(err)
	}
	switch name := os.Getenv("YARDSTICK"); name {
	case "", "full":
	case "lean":
		keepsOutbox = false
	default:
		log.Fatalf("YARDSTICK=%s is neither full nor lean", name)
	}
	concurrency, _ := strconv.Atoi(os.Getenv("APPLE_MAX_CONCURRENCY"))
	apple := make(chan struct{}, concurrency)
	client = &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			MaxIdleConns: concurrency, MaxIdleConnsPerHost: concurrency, MaxConnsPerHost: concurrency,
			DisableCompression: true}}
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	check(err)
	config.MaxConns = writers + 2
	pool, err := pgxpool.ConnectConfig(context.Background(), config)
	check(err)
	_, err = pool.Exec(context.Background(), schemaText)
	check(err)

	properties := kafka.ConfigMap{"bootstrap.servers": os.Getenv("KAFKA_BOOTSTRAP_SERVERS")}
	consumerProperties := kafka.ConfigMap{
		"bootstrap.servers": os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), "group.id": "yardstick",
		"enable.auto.commit": false, "auto.offset.reset": "earliest", "queued.max.messages.kbytes": 65536}
	for _, pair := range strings.Split(os.Getenv("KAFKA_PROPERTIES"), ";") {
		if parts := strings.SplitN(pair, "=", 2); len(parts) == 2 {
			consumerProperties[parts[0]] = parts[1]
		}
	}
	properties["acks"] = "all"
	properties["enable.idempotence"] = true
	properties["compression.type"] = "lz4"
	properties["linger.ms"] = 2
	consumer, err := kafka.NewConsumer(&consumerProperties)
	check(err)
	producer, err := kafka.NewProducer(&properties)
	check(err)
	topic := "receipt-submissions"
	check(consumer.Subscribe(topic, nil))
	offsets := &tracker{open: map[int32][]int64{}, done: map[int32]map[int64]bool{}}

	decided := make(chan *work, inFlight)
	acknowledged := make(chan *work, inFlight)
	places := make(chan struct{}, inFlight)
	for i := 0; i < writers; i++ {
		go write(pool, producer, decided)
	}
	go reports(producer, acknowledged)
	go tidy(pool, offsets, places, acknowledged)

	var stopping int32
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { <-signals; atomic.StoreInt32(&stopping, 1) }()
	lastCommit := time.Now()
	for atomic.LoadInt32(&stopping) == 0 {
		if time.Since(lastCommit) > time.Second {
			lastCommit = time.Now()
			if ready := offsets.committable(topic); len(ready) > 0 {
				go consumer.CommitOffsets(ready)
			}
		}
		switch m := consumer.Poll(100).(type) {
		case *kafka.Message:
			places <- struct{}{}
			offsets.start(m)
			go verify(m, apple, decided)
		case kafka.Error:
			log.Print(m)
		}
	}
}

func verify(m *kafka.Message, apple chan struct{}, decided chan *work) {
	w := &work{message: m}
	check(json.Unmarshal(m.Value, &w.submission))
	m.Value = nil
	body, err := json.Marshal(map[string]interface{}{
		"receipt-data": w.submission.ReceiptData, "exclude-old-transactions": true})
	check(err)
	apple <- struct{}{}
	w.submission.ReceiptData = ""
	a := ask(body)
	<-apple
	bundle := a.Receipt.BundleID
	if bundle == "" {
		bundle = a.Receipt.BID
	}
	if a.Status != 0 || bundle != w.submission.BundleID {
		reason := fmt.Sprintf("status %d for %q", a.Status, bundle)
		if !mayReject {
			log.Fatalf("%s: without YARDSTICK_REJECTS, every receipt must be genuine", reason)
		}
		w.reject(reason)
		decided <- w
		return
	}
	w.isGranted = true
	w.purchase = a.Receipt.purchase
	if len(a.Receipt.InApp) > 0 {
		w.purchase = a.Receipt.InApp[0]
	}
	quantity, _ := strconv.Atoi(w.purchase.Quantity)
	ms, _ := strconv.ParseInt(w.purchase.PurchaseDateMS, 10, 64)
	environment := a.Environment
	if environment == "" {
		environment = "Production"
	}
	id := sha256.Sum256([]byte("granted:" + w.purchase.TransactionID))
	w.event = event{
		EventID: hex.EncodeToString(id[:16]), Type: "receipt.granted", SubmissionID: w.submission.SubmissionID,
		PlayerID: w.submission.PlayerID, BundleID: w.submission.BundleID, ProductID: w.purchase.ProductID,
		TransactionID: w.purchase.TransactionID, OriginalTransactionID: w.purchase.OriginalTransactionID,
		Quantity: quantity, Environment: environment,
		PurchasedAt: time.UnixMilli(ms).UTC().Format(time.RFC3339Nano),
		GrantedAt:   time.Now().UTC().Format(time.RFC3339Nano)}
	w.bytes, err = json.Marshal(w.event)
	check(err)
	decided <- w
}

func (w *work) reject(reason string) {
	id := sha256.Sum256([]byte("rejected:" + w.submission.SubmissionID))
	w.event = event{
		EventID: hex.EncodeToString(id[:16]), Type: "receipt.rejected", SubmissionID: w.submission.SubmissionID,
		PlayerID: w.submission.PlayerID, BundleID: w.submission.BundleID, Reason: reason}
	var err error
	w.bytes, err = json.Marshal(w.event)
	check(err)
}

func ask(body []byte) answer {
	response, err := client.Post(
		os.Getenv("APPLE_VERIFY_RECEIPT_PRODUCTION_URL"), "application/json", bytes.NewReader(body))
	check(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	check(err)
	var a answer
	check(json.Unmarshal(data, &a))
	return a
}

// Writes all waiting submissions in one SQL transaction: new grants and, with an outbox, their events.
func write(pool *pgxpool.Pool, producer *kafka.Producer, decided chan *work) {
	topic := "receipt-outcomes"
	ctx := context.Background()
	for first := range decided {
		batch := gather(first, decided)
		if keepsOutbox {
			tx, err := pool.Begin(ctx)
			check(err)
			insertGrants(ctx, tx, batch)
			insertEvents(ctx, tx, batch)
			check(tx.Commit(ctx))
		} else {
			insertGrants(ctx, pool, batch)
		}
		for _, w := range batch {
			check(producer.Produce(&kafka.Message{
				TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
				Key:            []byte(w.submission.PlayerID), Value: w.bytes, Opaque: w}, nil))
		}
	}
}

// An SQL transaction, or a pool, in which each statement is an SQL transaction of its own.
type database interface {
	Query(ctx context.Context, sql string, arguments ...interface{}) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, arguments ...interface{}) (pgconn.CommandTag, error)
}

func insertGrants(ctx context.Context, database database, batch []*work) {
	var ids, originals, players, bundles, products, environments, purchased, submissions, granted []string
	var quantities []int32
	for _, w := range batch {
		if !w.isGranted {
			continue
		}
		ids = append(ids, w.purchase.TransactionID)
		originals = append(originals, w.purchase.OriginalTransactionID)
		players = append(players, w.submission.PlayerID)
		bundles = append(bundles, w.submission.BundleID)
		products = append(products, w.purchase.ProductID)
		environments = append(environments, w.event.Environment)
		purchased = append(purchased, w.event.PurchasedAt)
		submissions = append(submissions, w.submission.SubmissionID)
		granted = append(granted, w.event.GrantedAt)
		quantities = append(quantities, int32(w.event.Quantity))
	}
	if len(ids) == 0 {
		return
	}
	rows, err := database.Query(ctx, `INSERT INTO yardstick_grants
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[],
			$8::text[]::timestamptz[], $9::text[], $10::text[]::timestamptz[])
		ON CONFLICT (transaction_id) DO NOTHING RETURNING transaction_id`,
		ids, originals, players, bundles, products, quantities, environments, purchased, submissions, granted)
	check(err)
	defer rows.Close()
	// Fewer rows than ids come back if Kafka delivers records again, or if a receipt is replayed. Either way, their events
	// are published again.
	for rows.Next() {
	}
	check(rows.Err())
}

func insertEvents(ctx context.Context, database database, batch []*work) {
	var events, players []string
	var bodies [][]byte
	for _, w := range batch {
		events = append(events, w.event.EventID)
		players = append(players, w.submission.PlayerID)
		bodies = append(bodies, w.bytes)
	}
	_, err := database.Exec(ctx, `INSERT INTO yardstick_outbox (event_id, player_id, event)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])`, events, players, bodies)
	check(err)
}

func gather(first *work, from chan *work) []*work {
	batch := []*work{first}
	time.Sleep(gatherTime)
	for len(batch) < batchRows {
		select {
		case w := <-from:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

func reports(producer *kafka.Producer, acknowledged chan *work) {
	for e := range producer.Events() {
		if m, ok := e.(*kafka.Message); ok {
			check(m.TopicPartition.Error)
			acknowledged <- m.Opaque.(*work)
		}
	}
}

// Deletes published events from the outbox, if there is one, and then frees the offsets of their records.
func tidy(pool *pgxpool.Pool, offsets *tracker, places chan struct{}, acknowledged chan *work) {
	for first := range acknowledged {
		batch := []*work{first}
		if keepsOutbox {
			batch = gather(first, acknowledged)
			events := make([]string, len(batch))
			for i, w := range batch {
				events[i] = w.event.EventID
			}
			_, err := pool.Exec(context.Background(), "DELETE FROM yardstick_outbox WHERE event_id = ANY($1)", events)
			check(err)
		}
		for _, w := range batch {
			offsets.finish(w.message)
			<-places
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic(err)
	}
}
