import Kafka
import Testing

@Suite("The Kafka clients' librdkafka properties")
struct KafkaPropertiesTests {
    @Test("If all Kafka properties have names and values that librdkafka knows, the validation finds no fault")
    func noFaults() {
        let properties = KafkaProperties([
            ("bootstrap.servers", "localhost:9092"), ("acks", "all"), ("auto.offset.reset", "earliest"),
            ("partitioner", "murmur2_random"), ("sasl.password", "hunter2"),
        ])
        #expect(properties.faults().isEmpty)
    }

    @Test(
        "If a Kafka property is faulty, the error contains the property's name, and never the property's value",
        arguments: [
            ("no.such.property", "hunter2"), ("linger.ms", "hunter2"), ("security.protocol", "hunter2"),
            ("compression.codec", "hunter2"), ("session.timeout.ms", "987654321987"), ("sasl.password", "hunter2\0"),
            ("log_cb", "hunter2"),
        ])
    func faults(name: String, value: String) {
        let properties = KafkaProperties([("client.id", "fine"), (name, value)])
        let faults = properties.faults()
        #expect(faults.map(\.name) == [name])
        #expect(!faults.map(\.description).joined().contains(value))
        let error = #expect(throws: KafkaError.self) { try KafkaProducer(properties: properties, log: quiet) }
        #expect(error?.message.contains(name) == true)
        #expect(error?.message.contains(value) == false)
    }

    @Test("If several Kafka properties are faulty, the validation reports all of them, not only the first")
    func allFaults() {
        let properties = KafkaProperties([("linger.ms", "x"), ("acks", "all"), ("nonsense", "y")])
        #expect(properties.faults().map(\.name) == ["linger.ms", "nonsense"])
    }

    @Test(
        "If a Kafka property is set again, the new value keeps the old place; if it is set to nil, the property is gone"
    )
    func subscripting() {
        var properties = KafkaProperties([("a", "1"), ("b", "2"), ("a", "3")])
        #expect(properties.pairs.map(\.name) == ["a", "b"])
        #expect(properties["a"] == "3")
        properties["a"] = nil
        properties["c"] = "4"
        #expect(properties.pairs.map(\.name) == ["b", "c"])
        #expect(properties["a"] == nil)
    }

    @Test("If the program prints Kafka properties, the text has the properties' names and none of the values")
    func printing() {
        let properties = KafkaProperties([("sasl.password", "hunter2")])
        var dumped = ""
        dump(properties, to: &dumped)
        for text in [dumped, "\(properties)", String(reflecting: properties)] {
            #expect(text.contains("sasl.password"))
            #expect(!text.contains("hunter2"))
        }
    }

    @Test("If the properties lack group.id, the Kafka consumer's initializer throws an error that names group.id")
    func noGroup() {
        let error = #expect(throws: KafkaError.self) { try KafkaConsumer(properties: KafkaProperties(), log: quiet) }
        #expect(error?.message.contains("group.id") == true)
    }

    private static let refused: [[(name: String, value: String)]] = [
        [("security.protocol", "ssl"), ("ssl.ca.location", "/nonexistent")],
        [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "NONE-SUCH")],
        [("session.timeout.ms", "10000"), ("max.poll.interval.ms", "5000")],
    ]

    @Test("If librdkafka refuses the properties, every attempt to create a consumer, producer or admin client throws")
    func refusedClients() {
        for pairs in Self.refused.prefix(2) {
            let properties = KafkaProperties(pairs + [("group.id", "g"), ("bootstrap.servers", "127.0.0.1:1")])
            for _ in 1...3 {
                let errors = [
                    #expect(throws: KafkaError.self) { try KafkaConsumer(properties: properties, log: quiet) },
                    #expect(throws: KafkaError.self) { try KafkaProducer(properties: properties, log: quiet) },
                    #expect(throws: KafkaError.self) {
                        try TopicAdministration.configuration(
                            "cleanup.policy", of: ["t"], properties: properties, timeoutMilliseconds: 10)
                    },
                ]
                #expect(errors.allSatisfy { $0?.code == KafkaError.Code.invalidArgument })
            }
        }
        // After refused clients, a client with sound properties still starts.
        let sound = KafkaProperties([("group.id", "g"), ("bootstrap.servers", "127.0.0.1:1")])
        #expect(throws: Never.self) { try KafkaConsumer(properties: sound, log: quiet).abandon() }
    }

    @Test("If librdkafka refuses properties that are each valid alone, `refusal(of:)` returns librdkafka's objection")
    func refusals() {
        for pairs in Self.refused {
            let properties = KafkaProperties(pairs)
            #expect(properties.faults().isEmpty)
            #expect(properties.refusal(of: .consumer)?.isEmpty == false, "\(pairs)")
        }
        let ssl = KafkaProperties(Self.refused[0])
        #expect(ssl.refusal(of: .producer)?.contains("ssl.ca.location") == true)
        #expect(KafkaProperties([("security.protocol", "ssl")]).refusal(of: .producer) == nil)
    }
}
