import Kafka
import Testing

@testable import Pipeline

@Suite("Log lines about trouble with Kafka")
struct KafkaFoldTests {
    private func fail(_ words: String) -> KafkaLogLine {
        KafkaLogLine(level: 3, facility: "FAIL", message: "[thrd:b:1/bootstrap]: plaintext://b:1/bootstrap: \(words)")
    }

    private let answer = KafkaLogLine(level: 5, facility: "ANSWER", message: "b:1")

    private func isDebug(_ sayings: [KafkaSaying]) -> Bool {
        sayings.allSatisfy { if case .debug = $0 { true } else { false } }
    }

    @Test("trouble with Kafka is logged at its start, once a minute, and once when all clients have answers again")
    func folded() {
        var fold = KafkaFold()
        let refused = KafkaTrouble(kind: .transport, broker: "b:1", words: "refused")
        #expect(fold.hear(fail("refused"), from: 1, now: 100) == [.trouble(refused, secondsSince: 0)])
        // The same failure becomes a debug line if it comes again: as an event, from another client, or within a
        // minute.
        let event = KafkaLogLine(
            level: 3, facility: "ERROR", message: "_TRANSPORT (-195): plaintext://b:1/bootstrap: refused", code: -195)
        let down = KafkaLogLine(
            level: 3, facility: "ERROR", message: "_ALL_BROKERS_DOWN (-187): 1/1 brokers are down", code: -187)
        #expect(isDebug(fold.hear(event, from: 1, now: 100)))
        #expect(isDebug(fold.hear(down, from: 1, now: 100)))
        #expect(isDebug(fold.hear(fail("refused"), from: 2, now: 101)))
        #expect(isDebug(fold.hear(fail("refused"), from: 1, now: 159)))
        #expect(fold.hear(fail("refused"), from: 2, now: 160) == [.trouble(refused, secondsSince: 60)])
        #expect(isDebug(fold.hear(fail("refused"), from: 1, now: 219)))
        #expect(fold.trouble == refused)
        // A broker answers client 1, and then client 2.
        #expect(isDebug(fold.hear(answer, from: 1, now: 230)))
        #expect(fold.hear(answer, from: 2, now: 231) == [.debug(answer), .recovered(seconds: 131)])
        #expect(fold.trouble == nil)
        #expect(fold.hear(fail("refused"), from: 1, now: 232) == [.trouble(refused, secondsSince: 0)])
    }

    @Test("closing a Kafka client ends the client's trouble; another client's trouble lasts until an answer or a close")
    func closed() {
        var fold = KafkaFold()
        let (first, second) = (fold.join(), fold.join())
        _ = fold.hear(fail("refused"), from: first, now: 0)
        _ = fold.hear(fail("refused"), from: second, now: 1)
        fold.leave(first)
        #expect(fold.trouble != nil)
        #expect(fold.hear(answer, from: second, now: 30) == [.debug(answer), .recovered(seconds: 30)])
        _ = fold.hear(fail("refused"), from: second, now: 40)
        fold.leave(second)
        #expect(fold.trouble == nil)
        let refused = KafkaTrouble(kind: .transport, broker: "b:1", words: "refused")
        #expect(fold.hear(fail("refused"), from: fold.join(), now: 50) == [.trouble(refused, secondsSince: 0)])
    }

    @Test("if the process itself has logged Kafka's recovery, the recovery that librdkafka reports is not logged again")
    func backOnce() {
        for (before, after) in [((0, 0), (1, 0)), ((1, 0), (1, 1)), ((3, 3), (4, 4))] {
            var fold = KafkaFold()
            _ = fold.hear(fail("refused"), from: 1, told: before, now: 0)
            #expect(
                fold.hear(answer, from: 1, told: after, now: 30) == [.debug(answer), .recoveredUnsaid(seconds: 30)])
        }
        var alone = KafkaFold()
        _ = alone.hear(fail("refused"), from: 1, told: (2, 2), now: 0)
        #expect(alone.hear(answer, from: 1, told: (2, 2), now: 30) == [.debug(answer), .recovered(seconds: 30)])
    }

    @Test("a librdkafka line that repeats for many partitions is logged once a minute with its count")
    func repeated() {
        var fold = KafkaFold()
        func line(_ partition: Int) -> KafkaLogLine {
            KafkaLogLine(level: 3, facility: "ERROR", message: "topic [\(partition)]: unknown partition", code: -190)
        }
        #expect(fold.hear(line(0), from: 1, now: 0) == [.other(line(0), leftOut: 0)])
        for number in 1..<40 { #expect(isDebug(fold.hear(line(number), from: 1, now: Double(number)))) }
        #expect(fold.hear(line(7), from: 2, now: 60) == [.other(line(7), leftOut: 39)])
        // A line with other words is logged immediately.
        let other = KafkaLogLine(level: 3, facility: "ERROR", message: "topic [1]: not leader", code: 6)
        #expect(fold.hear(other, from: 1, now: 61) == [.other(other, leftOut: 0)])
    }

    @Test("a refused password is logged immediately, and a later disconnect does not replace it as the known trouble")
    func telling() {
        var fold = KafkaFold()
        _ = fold.hear(fail("Disconnected"), from: 1, now: 0)
        let password = KafkaTrouble(kind: .authentication, broker: "b:1", words: "SASL authentication error: no")
        #expect(
            fold.hear(fail("SASL authentication error: no"), from: 1, now: 1) == [.trouble(password, secondsSince: 1)])
        #expect(isDebug(fold.hear(fail("Disconnected"), from: 1, now: 2)))
        #expect(fold.trouble == password)
    }

    @Test("librdkafka's errors that concern no single broker are logged, and its warnings become debug lines")
    func others() {
        var fold = KafkaFold()
        let fatal = KafkaLogLine(level: 2, facility: "ERROR", message: "_FATAL (-150): fenced", code: -150)
        #expect(fold.hear(fatal, from: 1, now: 0) == [.other(fatal, leftOut: 0)])
        #expect(isDebug(fold.hear(KafkaLogLine(level: 4, facility: "CONFWARN", message: "x"), from: 1, now: 0)))
        #expect(fold.trouble == nil)
    }
}
