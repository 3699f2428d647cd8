import Foundation
import Testing

@testable import Kafka

@Suite("The Kafka client's descriptions of trouble with brokers")
struct KafkaTroubleTests {
    @Test(
        "if librdkafka reports one failure in a log line and in an event, the parser describes both with the same words"
    )
    func sameWords() {
        let words = "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"
        let advice = ": broker certificate could not be verified, verify that ssl.ca.location is correctly configured"
        let name = "ssl://kafka.example:9093/bootstrap"
        let line = KafkaLogLine(
            level: 3, facility: "FAIL",
            message: "[thrd:\(name)]: \(name): \(words)\(advice) (after 7ms in state SSL_HANDSHAKE)")
        let event = KafkaLogLine(
            level: 3, facility: "ERROR",
            message: "_SSL (-181): \(name): \(words)\(advice) (after 9ms in state SSL_HANDSHAKE, 3 identical error(s) "
                + "suppressed)", code: KafkaError.Code.ssl)
        let expected = KafkaTrouble(kind: .tls, broker: "kafka.example:9093", words: words)
        #expect(KafkaTrouble(line) == expected)
        #expect(KafkaTrouble(event) == expected)
    }

    @Test(
        "the log parser finds the broker in librdkafka's line about the coordinator, and ignores a line about no broker"
    )
    func others() {
        let coordinator = KafkaLogLine(
            level: 3, facility: "FAIL",
            message: "[thrd:GroupCoordinator]: GroupCoordinator: b1:9092: Connect to ipv4#10.0.0.1:9092 failed: "
                + "Connection refused (after 1ms in state CONNECT)")
        #expect(
            KafkaTrouble(coordinator)
                == KafkaTrouble(
                    kind: .transport, broker: "b1:9092",
                    words: "Connect to ipv4#10.0.0.1:9092 failed: Connection refused"))
        let plain = KafkaLogLine(
            level: 3, facility: "FAIL",
            message: "[thrd:b1:9092/bootstrap]: b1:9092/1: Disconnected (after 70002ms in state UP)")
        #expect(KafkaTrouble(plain) == KafkaTrouble(kind: .transport, broker: "b1:9092", words: "Disconnected"))
        let down = KafkaLogLine(
            level: 3, facility: "ERROR", message: "_ALL_BROKERS_DOWN (-187): 1/1 brokers are down", code: -187)
        #expect(KafkaTrouble(down) == nil)
        #expect(KafkaTrouble(KafkaLogLine(level: 4, facility: "CONFWARN", message: "[thrd:app]: x")) == nil)
    }

    @Test("if a broker refuses the client's certificate or disconnects early, the log parser suggests the likely cause")
    func withoutWords() {
        let refused = KafkaLogLine(
            level: 3, facility: "FAIL",
            message: "[thrd:ssl://b1:9093/bootstrap]: ssl://b1:9093/bootstrap: Receive failed: error:0A000416:SSL "
                + "routines::sslv3 alert certificate unknown: SSL alert number 46 (after 9ms in state APIVERSION_QUERY)"
        )
        #expect(
            KafkaTrouble(refused)
                == KafkaTrouble(
                    kind: .tls, broker: "b1:9093",
                    words: "the broker refuses the client's certificate, or the client showed none: certificate "
                        + "unknown (TLS alert 46)"))
        func closed(_ words: String, in state: String, after milliseconds: Int = 2, by scheme: String = "")
            -> KafkaLogLine
        {
            let name = "\(scheme)b1:9093/bootstrap"
            return KafkaLogLine(
                level: 6, facility: "FAIL",
                message: "[thrd:\(name)]: \(name): \(words) (after \(milliseconds)ms in state \(state))")
        }
        // librdkafka 2.0 writes the first line, librdkafka 2.16 the second.
        for words in [
            "Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration",
            "Disconnected: connection closed by peer: receive 0 after POLLIN",
        ] {
            let unheard = KafkaTrouble(closed(words, in: "APIVERSION_QUERY"))
            #expect(unheard?.kind == .transport && unheard?.broker == "b1:9093")
            #expect(unheard?.words.contains("does this port want TLS") ?? false)
            let unasked = KafkaTrouble(closed(words, in: "UP"))
            #expect(unasked?.kind == .transport && unasked?.broker == "b1:9093")
            #expect(unasked?.words.contains("does this port want a log-in") ?? false)
            // The first connection has worked for a while, and the second has logged in.
            #expect(KafkaTrouble(closed(words, in: "UP", after: 70_000)) == nil)
            #expect(KafkaTrouble(closed(words, in: "UP", by: "sasl_ssl://")) == nil)
        }
    }

    @Test(
        "if a client without SASL uses a Kafka port that requires a log-in, the log parser suggests the missing log-in")
    func logInMissing() async throws {
        let broker = try await RefusingBroker.start(mechanisms: ["PLAIN"])
        let recorder = TroubleRecorder()
        try await blocking { [address = broker.address] in
            let producer = try KafkaProducer(
                properties: KafkaProperties([("bootstrap.servers", address), ("reconnect.backoff.ms", "10")]),
                log: recorder.note)
            defer { producer.close(flushMilliseconds: 0) }
            let deadline = ContinuousClock.now + .seconds(30)
            while recorder.trouble == nil, ContinuousClock.now < deadline {
                _ = try? producer.metadata(timeoutMilliseconds: 100)
            }
        }
        let trouble = try #require(recorder.trouble)
        #expect(trouble.broker == broker.address && trouble.words.contains("want a log-in"), "\(trouble)")
        try await broker.shutdown()
    }

    /// Returns the trouble that a client records when it asks this broker for metadata.
    private func trouble(_ address: String, _ more: KeyValuePairs<String, String>) async throws -> KafkaTrouble? {
        var properties = KafkaProperties([("bootstrap.servers", address), ("reconnect.backoff.ms", "10")])
        for (name, value) in more { properties[name] = value }
        return try await blocking { [properties] in
            let recorder = TroubleRecorder()
            let producer = try KafkaProducer(properties: properties, log: recorder.note)
            defer { producer.close(flushMilliseconds: 0) }
            let deadline = ContinuousClock.now + .seconds(30)
            while recorder.trouble.map({ $0.kind == .transport }) ?? true, ContinuousClock.now < deadline {
                _ = try? producer.metadata(timeoutMilliseconds: 100)
            }
            return recorder.trouble
        }
    }

    @Test(
        "a TLS failure's description distinguishes an unknown authority, an expired certificate and a wrong host name")
    func certificates() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ text: String) throws -> String {
            let path = folder.appending(path: UUID().uuidString).path
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        let expired = try await TLSListener.start(certificate: TLSListener.expiredPEM)
        let valid = try await TLSListener.start(certificate: TLSListener.validPEM)

        let unknown = try #require(
            try await trouble(
                valid.address, ["security.protocol": "ssl", "ssl.ca.location": try file(TLSListener.expiredPEM)]))
        #expect(unknown.kind == .tls && unknown.broker == valid.address, "\(unknown)")
        #expect(unknown.words.contains("not trusted") || unknown.words.contains("not among the trusted"), "\(unknown)")
        #expect(unknown.words.contains("CN=localhost"), "\(unknown)")

        let old = try #require(
            try await trouble(
                expired.address, ["security.protocol": "ssl", "ssl.ca.location": try file(TLSListener.expiredPEM)]))
        #expect(old.words.contains("it has expired"), "\(old)")

        let address = valid.address.replacing("localhost", with: "127.0.0.1")
        let other = try #require(
            try await trouble(
                address,
                [
                    "security.protocol": "ssl", "ssl.ca.location": try file(TLSListener.validPEM),
                    "ssl.endpoint.identification.algorithm": "https",
                ]))
        #expect(other.words.contains("another"), "\(other)")

        try await expired.shutdown()
        try await valid.shutdown()
    }

    @Test("if the broker refuses a password or SASL mechanism, the description has the broker's words, and no password")
    func refusedLogIn() async throws {
        let sasl: KeyValuePairs<String, String> = [
            "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "u",
            "sasl.password": "wrong-secret",
        ]
        let plain = try await RefusingBroker.start(mechanisms: ["PLAIN"])
        let password = try #require(try await trouble(plain.address, sasl))
        #expect(password.kind == .authentication && password.broker == plain.address, "\(password)")
        #expect(password.words.contains("Invalid username or password"), "\(password)")
        #expect(!password.words.contains("wrong-secret"))
        let scram = try await RefusingBroker.start(mechanisms: ["SCRAM-SHA-512"])
        let mechanism = try #require(try await trouble(scram.address, sasl))
        #expect(mechanism.kind == .authentication, "\(mechanism)")
        #expect(mechanism.words.contains("SCRAM-SHA-512"), "\(mechanism)")
        try await plain.shutdown()
        try await scram.shutdown()
    }

    @Test(
        "if a broker answers again after a failure, the Kafka client logs exactly one line about the recovery",
        .timeLimit(.minutes(1)))
    func answersAgain() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let lines = Shared<[KafkaLogLine]>([])
        let (told, log) = AsyncStream.makeStream(of: KafkaLogLine.self)
        let producer = try KafkaProducer(properties: properties(cluster)) { line in
            lines.update { $0.append(line) }
            log.yield(line)
        }
        _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [1]))
        func count(_ facility: String) -> Int { lines.value.count { $0.facility == facility } }
        #expect(count("ANSWER") == 0)
        cluster.setBrokerDown(1)
        // librdkafka logs the end of a connection as a notice. The test waits for a refused connection, which is
        // trouble.
        _ = await told.first { KafkaTrouble($0) != nil }
        cluster.setBrokerUp(1)
        _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [2]))
        _ = await told.first { $0.facility == "ANSWER" }
        _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [3]))
        #expect(count("ANSWER") == 1)
        try await blocking { producer.close() }
    }
}
