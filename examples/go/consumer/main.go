// An inventory: does what events say, each once, whatever is killed and however often an event comes.
//
//	KAFKA_BOOTSTRAP_SERVERS   the brokers
//	INVENTORY_DATABASE        the inventory's PostgreSQL, with the tables of examples/inventory.sql
//	KAFKA_GROUP_ID, KAFKA_SESSION_TIMEOUT_MS    inventory and 10000 unless set
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/confluentinc/confluent-kafka-go/kafka"
	"github.com/jackc/pgx/v4"
)

type event struct {
	EventID       string `json:"event_id"`
	Type          string `json:"type"`
	PlayerID      string `json:"player_id"`
	ProductID     string `json:"product_id"`
	TransactionID string `json:"transaction_id"`
	Revision      int    `json:"revision"`
	Quantity      int    `json:"quantity"`
	Units         int    `json:"units"`
}

// What the transaction is worth after this event; false where it says nothing of goods.
func (e event) worth() (int, bool) {
	switch e.Type {
	case "receipt.granted", "receipt.reinstated":
		return e.Quantity, true
	case "receipt.revoked":
		// `units` is what is taken back in all, of a part too.
		return e.Quantity - e.Units, true
	default:
		return 0, false
	}
}

// Within one transaction. False where the event came before.
func handle(ctx context.Context, e event, sql pgx.Tx) (bool, error) {
	inserted, err := sql.Exec(ctx, "INSERT INTO handled_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING", e.EventID)
	if err != nil || inserted.RowsAffected() == 0 {
		return false, err
	}
	units, isOfGoods := e.worth()
	if !isOfGoods {
		return true, nil
	}
	_, err = sql.Exec(ctx, "INSERT INTO purchases (transaction_id) VALUES ($1) ON CONFLICT DO NOTHING", e.TransactionID)
	if err != nil {
		return false, err
	}
	var revision, before int
	err = sql.QueryRow(ctx, "SELECT revision, units FROM purchases WHERE transaction_id = $1 FOR UPDATE", e.TransactionID).
		Scan(&revision, &before)
	// A refund may overtake its grant: what is older than what is known says nothing any more.
	if err != nil || e.Revision <= revision {
		return true, err
	}
	_, err = sql.Exec(ctx, "UPDATE purchases SET revision = $2, units = $3 WHERE transaction_id = $1",
		e.TransactionID, e.Revision, units)
	if err != nil {
		return false, err
	}
	// The inventory's own table, in the same transaction: both are there, or neither.
	_, err = sql.Exec(ctx, `INSERT INTO inventory (player_id, product_id, units) VALUES ($1, $2, $3)
		ON CONFLICT (player_id, product_id) DO UPDATE SET units = inventory.units + excluded.units`,
		e.PlayerID, e.ProductID, units-before)
	return true, err
}

func main() {
	ctx := context.Background()
	database, err := pgx.Connect(ctx, os.Getenv("INVENTORY_DATABASE"))
	check(err)
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": os.Getenv("KAFKA_BOOTSTRAP_SERVERS"),
		"group.id":          setting("KAFKA_GROUP_ID", "inventory"),
		"auto.offset.reset": "earliest",
		// Only what is in the database is committed to Kafka, every few seconds. What a kill leaves uncommitted comes again.
		"enable.auto.offset.store": false,
		"session.timeout.ms":       setting("KAFKA_SESSION_TIMEOUT_MS", "10000"),
	})
	check(err)
	check(consumer.Subscribe("receipt-outcomes", nil))
	stopping := make(chan os.Signal, 1)
	signal.Notify(stopping, syscall.SIGTERM, syscall.SIGINT)
	for len(stopping) == 0 {
		switch record := consumer.Poll(200).(type) {
		case kafka.Error:
			log.Print(record)
		case *kafka.Message:
			var e event
			check(json.Unmarshal(record.Value, &e))
			var isNew bool
			// Commits, or rolls back and ends this process: the event comes again.
			check(database.BeginFunc(ctx, func(sql pgx.Tx) (err error) {
				isNew, err = handle(ctx, e, sql)
				return err
			}))
			next := record.TopicPartition
			next.Offset++
			if _, err := consumer.StoreOffsets([]kafka.TopicPartition{next}); err != nil {
				// The partition is another consumer's by now. The event comes again there, and is known.
				log.Print(err)
			}
			what := "handled"
			if !isNew {
				what = "repeated"
			}
			fmt.Println(what, e.Type, e.EventID)
		}
	}
	check(consumer.Close())
}

func setting(name, usual string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return usual
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
