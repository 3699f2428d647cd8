// An inventory: it applies each event once, however often the event comes, and whichever process is killed.
//
//	KAFKA_BOOTSTRAP_SERVERS   the brokers
//	INVENTORY_DATABASE        the inventory's PostgreSQL, with the tables of examples/inventory.sql
//	KAFKA_GROUP_ID, KAFKA_SESSION_TIMEOUT_MS    default: inventory and 10000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/confluentinc/confluent-kafka-go/kafka"
	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

type event struct {
	EventID       string `json:"event_id"`
	Type          string `json:"type"`
	PlayerID      string `json:"player_id"`
	ProductID     string `json:"product_id"`
	TransactionID string `json:"transaction_id"`
	Revision      int32  `json:"revision"`
	Quantity      int32  `json:"quantity"`
	Units         *int32 `json:"units"`
}

const retryPause = time.Second

var uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// The error of a record whose value is no event, or has data that PostgreSQL never accepts.
type noEvent struct{ reason string }

func (e noEvent) Error() string { return e.reason }

// Returns the event in a record's value. An event may have an unknown type.
func eventIn(value []byte) (event, error) {
	var e event
	if err := json.Unmarshal(value, &e); err != nil {
		return e, noEvent{err.Error()}
	}
	isRevoked := e.Type == "receipt.revoked"
	isOfGoods := isRevoked || e.Type == "receipt.granted" || e.Type == "receipt.reinstated"
	switch {
	case !uuidPattern.MatchString(e.EventID):
		return e, noEvent{"event_id is missing, or no UUID"}
	case e.Type == "":
		return e, noEvent{"type is missing"}
	case isOfGoods && (e.TransactionID == "" || e.PlayerID == "" || e.ProductID == "" || e.Revision < 1 || e.Quantity < 1):
		return e, noEvent{"one of transaction_id, player_id, product_id, revision and quantity is missing"}
	case isRevoked && e.Units == nil:
		return e, noEvent{"units is missing"}
	}
	return e, nil
}

// Returns the units that the player has of the transaction after this event; false if the event is not about goods.
func (e event) worth() (int32, bool) {
	switch e.Type {
	case "receipt.granted", "receipt.reinstated":
		return e.Quantity, true
	case "receipt.revoked":
		// `units` is the total of revoked units.
		return e.Quantity - *e.Units, true
	default:
		return 0, false
	}
}

// Applies the event within one SQL transaction. Returns false if the event came before.
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
	var revision, before int32
	err = sql.QueryRow(ctx, "SELECT revision, units FROM purchases WHERE transaction_id = $1 FOR UPDATE", e.TransactionID).
		Scan(&revision, &before)
	// A refund may overtake its grant: an event with an older revision changes nothing.
	if err != nil || e.Revision <= revision {
		return true, err
	}
	_, err = sql.Exec(ctx, "UPDATE purchases SET revision = $2, units = $3 WHERE transaction_id = $1",
		e.TransactionID, e.Revision, units)
	if err != nil {
		return false, err
	}
	// The inventory's own table changes in the same SQL transaction, so PostgreSQL stores all changes or none.
	_, err = sql.Exec(ctx, `INSERT INTO inventory (player_id, product_id, units) VALUES ($1, $2, $3)
		ON CONFLICT (player_id, product_id) DO UPDATE SET units = inventory.units + excluded.units`,
		e.PlayerID, e.ProductID, units-before)
	return true, err
}

type inventory struct {
	address    string
	connection *pgx.Conn
}

// Connects if there is no connection, and runs the work in one SQL transaction.
func (i *inventory) transaction(ctx context.Context, work func(pgx.Tx) error) error {
	if i.connection == nil || i.connection.IsClosed() {
		connection, err := pgx.Connect(ctx, i.address)
		if err != nil {
			return err
		}
		i.connection = connection
	}
	return i.connection.BeginFunc(ctx, work)
}

// Tries once to apply a record. Returns the line to print.
func (i *inventory) take(ctx context.Context, record *kafka.Message) (string, error) {
	e, err := eventIn(record.Value)
	isNew := false
	if err == nil {
		err = i.transaction(ctx, func(sql pgx.Tx) (err error) {
			isNew, err = handle(ctx, e, sql)
			return err
		})
	}
	reason, isFinal := refusal(err)
	switch {
	case isFinal:
		err = i.transaction(ctx, func(sql pgx.Tx) error { return setAside(ctx, record, reason, sql) })
		return fmt.Sprint("set-aside ", record.TopicPartition, " ", reason), err
	case err != nil:
		return "", err
	case isNew:
		return fmt.Sprint("handled ", e.Type, " ", e.EventID), nil
	default:
		return fmt.Sprint("repeated ", e.Type, " ", e.EventID), nil
	}
}

// Returns the reason if no try can succeed: the value is no event, or PostgreSQL refuses its data (SQLSTATE class 22 or 23).
func refusal(err error) (string, bool) {
	var unread noEvent
	var refused *pgconn.PgError
	if errors.As(err, &unread) {
		return unread.reason, true
	}
	if errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "22") || strings.HasPrefix(refused.Code, "23")) {
		return refused.Message, true
	}
	return "", false
}

// Stores a record that is no event, for a person to look at. The consumer then goes on with the next record.
func setAside(ctx context.Context, record *kafka.Message, reason string, sql pgx.Tx) error {
	place := record.TopicPartition
	_, err := sql.Exec(ctx, `INSERT INTO set_aside (topic, partition, record_offset, reason, value) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT DO NOTHING`, *place.Topic, place.Partition, int64(place.Offset), reason, record.Value)
	return err
}

func main() {
	ctx := context.Background()
	for _, name := range []string{"KAFKA_BOOTSTRAP_SERVERS", "INVENTORY_DATABASE"} {
		if os.Getenv(name) == "" {
			log.Fatal("set ", name)
		}
	}
	goods := inventory{address: os.Getenv("INVENTORY_DATABASE")}
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": os.Getenv("KAFKA_BOOTSTRAP_SERVERS"),
		"group.id":          setting("KAFKA_GROUP_ID", "inventory"),
		"auto.offset.reset": "earliest",
		// Every few seconds librdkafka commits the offsets of stored events. After a kill the other events come again.
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
			told, err := goods.take(ctx, record)
			for err != nil && len(stopping) == 0 {
				// PostgreSQL is out of reach, or lacks a table or a right. The record waits until somebody repairs this.
				log.Printf("trying again in %v: %v", retryPause, err)
				time.Sleep(retryPause)
				told, err = goods.take(ctx, record)
			}
			if err != nil {
				break
			}
			next := record.TopicPartition
			next.Offset++
			if _, err := consumer.StoreOffsets([]kafka.TopicPartition{next}); err != nil {
				// Another consumer has the partition now. It reads the event again, and ignores it as a repeat.
				log.Print(err)
			}
			fmt.Println(told)
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
