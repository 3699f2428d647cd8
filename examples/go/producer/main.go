// Publishes the submissions on standard input, one JSON object a line.
//
//	KAFKA_BOOTSTRAP_SERVERS   the brokers
//	SUBMISSION_SIGNING_KEY    one of receiptd's SUBMISSION_SIGNING_KEYS, if it has any
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/confluentinc/confluent-kafka-go/kafka"
)

var topic = "receipt-submissions"

type submission struct {
	SubmissionID      string `json:"submission_id"`
	PlayerID          string `json:"player_id"`
	BundleID          string `json:"bundle_id"`
	ReceiptData       any    `json:"receipt_data"`
	SignedTransaction any    `json:"signed_transaction"`
	TransactionID     any    `json:"transaction_id"`
}

// Returns the submission in a line, or an error that names the missing field.
func submissionIn(line []byte) (submission, error) {
	var s submission
	if err := json.Unmarshal(line, &s); err != nil {
		return s, err
	}
	proofs := 0
	for _, proof := range []any{s.ReceiptData, s.SignedTransaction, s.TransactionID} {
		if proof != nil {
			proofs++
		}
	}
	switch {
	case s.SubmissionID == "":
		return s, errors.New("missing: submission_id")
	case s.PlayerID == "":
		return s, errors.New("missing: player_id")
	case s.BundleID == "":
		return s, errors.New("missing: bundle_id")
	case proofs != 1:
		return s, errors.New("missing: one of receipt_data, signed_transaction, transaction_id")
	}
	return s, nil
}

func main() {
	if os.Getenv("KAFKA_BOOTSTRAP_SERVERS") == "" {
		log.Fatal("set KAFKA_BOOTSTRAP_SERVERS")
	}
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": os.Getenv("KAFKA_BOOTSTRAP_SERVERS"),
		// Java's partitioner, which all producers of the topic must use. It is not librdkafka's default.
		"partitioner": "murmur2_random",
		// Kafka acknowledges a submission when all in-sync replicas have it. A retry neither doubles nor reorders submissions.
		"enable.idempotence": true,
		"acks":               "all",
	})
	check(err)
	failures, unread := 0, 0
	done := make(chan bool)
	go func() {
		for event := range producer.Events() {
			if message, ok := event.(*kafka.Message); ok && message.TopicPartition.Error != nil {
				log.Printf("%s: %v", message.Key, message.TopicPartition.Error)
				failures++
			}
		}
		close(done)
	}()

	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 2<<20)
	for number := 1; lines.Scan(); number++ {
		// The producer signs exactly the bytes that it sends.
		value := append([]byte(nil), lines.Bytes()...)
		submission, err := submissionIn(value)
		if err != nil {
			// The producer still sends the other lines.
			log.Printf("line %d is not sent: %v", number, err)
			unread++
			continue
		}
		// This call waits while too many submissions are not acknowledged.
		producer.ProduceChannel() <- &kafka.Message{
			TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
			Key:            []byte(submission.PlayerID),
			Value:          value,
			Headers:        headers([]byte(submission.PlayerID), value),
		}
	}
	if lines.Err() != nil {
		log.Print(lines.Err())
		unread++
	}
	unsent := producer.Flush(30_000)
	producer.Close()
	<-done
	if failures+unsent > 0 {
		log.Fatalf("%d submissions are not acknowledged: send them again", failures+unsent)
	}
	if unread > 0 {
		os.Exit(1)
	}
}

func headers(recordKey, value []byte) []kafka.Header {
	// A game server passes on the traceparent of the request that it serves. receiptd copies it to the events.
	trace := make([]byte, 24)
	_, err := rand.Read(trace)
	check(err)
	headers := []kafka.Header{
		{Key: "traceparent", Value: []byte(fmt.Sprintf("00-%x-%x-01", trace[:16], trace[16:]))}}
	if key := os.Getenv("SUBMISSION_SIGNING_KEY"); key != "" {
		headers = append(headers, kafka.Header{
			Key: "receiptd-signature", Value: []byte(signature(key, "receipt-submissions", recordKey, value))})
	}
	return headers
}

// Returns the header receiptd-signature, version v2, which covers the record's kind, key and value.
func signature(key, kind string, recordKey, value []byte) string {
	code := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(code, "receiptd-v2\n%s\n%d\n", kind, len(recordKey))
	code.Write(recordKey)
	code.Write(value)
	return fmt.Sprintf("v2=%x", code.Sum(nil))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
