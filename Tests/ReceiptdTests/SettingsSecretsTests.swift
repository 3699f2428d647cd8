import Foundation
import Fulfillment
import Kafka
import Testing

@testable import ReceiptdConfiguration

struct SettingsSecretsTests {
    @Test("if a setting names a secret's file, the secret is the file's text without one trailing line break")
    func secretFiles() throws {
        for (text, key) in [("hush\n", "hush"), ("hush\r\n", "hush"), ("hush\n\n", "hush\n"), ("hush", "hush")] {
            let settings = try withFile(text) {
                try Settings.Reader(environment: ["SUBMISSION_SIGNING_KEYS_FILE": $0]).read(requiring: [])
            }
            #expect(settings.submissionSigningKeys == [Secret(key)])
        }
        let settings = try withFile("postgres://u:hush@db/x\n") { path in
            try withFile("database: { urlFile: \(path) }") {
                try Settings.Reader(environment: [:], file: $0).read(requiring: [.database])
            }
        }
        #expect(settings.database.url.value == "postgres://u:hush@db/x")
    }

    @Test(
        "latestURL reads the file of DATABASE_URL_FILE at each use, and is nil while the file has no connection string")
    func latestURL() throws {
        try withFile("postgres://u:old@db/x\n") { path in
            let database = try Settings.Reader(environment: ["DATABASE_URL_FILE": path]).read(requiring: [.database])
                .database
            #expect(database.latestURL == Secret("postgres://u:old@db/x"))
            try "postgres://u:new@db/x\n".write(toFile: path, atomically: true, encoding: .utf8)
            #expect(database.latestURL == Secret("postgres://u:new@db/x"))
            #expect(database.url == Secret("postgres://u:old@db/x"))
            for text in ["", "half a li", "mysql://u@db"] {
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                #expect(database.latestURL == nil)
            }
        }
        let given = try Settings.Reader(environment: ["DATABASE_URL": "postgres://u@db/x"]).read(requiring: [.database])
        #expect(given.database.latestURL == nil)
    }

    @Test("if a secret's file is unreadable, or a secret is given twice, the settings report one fault")
    func secretFaults() throws {
        let missing = settingsFaults(["DATABASE_URL_FILE": "/nowhere/url"], requiring: [.database])
        #expect(missing.map(\.setting) == ["DATABASE_URL_FILE"])
        let twice = settingsFaults(
            ["DATABASE_URL_FILE": "/nowhere/url", "DATABASE_URL": "postgres://u:hush@db"], requiring: [.database])
        #expect(twice.map(\.setting) == ["DATABASE_URL"])
        #expect(try withFile("") { settingsFaults(["DATABASE_URL_FILE": $0]) }.count == 1)
        let inFile = try withFile("database:\n  url: postgres://a\n  urlFile: /nowhere/url\n") {
            settingsFaults([:], file: $0)
        }
        #expect(inFile.map(\.line) == [2])
        let won = try withFile("database: { urlFile: /nowhere/url }") {
            settingsFaults(["DATABASE_URL": "postgres://a"], file: $0)
        }
        #expect(won.isEmpty)
    }

    @Test(
        "a secret that the catalog names comes from the environment or a _FILE variable, never from the settings file")
    func secretSource() throws {
        let source = try withFile("from the file\n") { path in
            let source = SecretSource(environment: [
                "PLAIN": "hush", "FILED_FILE": path, "EMPTY": "", "BOTH": "hush", "BOTH_FILE": path,
                "GONE_FILE": "/nowhere/x",
            ])
            #expect(source.secret(named: "PLAIN") == "hush")
            #expect(source.secret(named: "FILED") == "from the file")
            for name in ["EMPTY", "ABSENT", "BOTH", "GONE"] { #expect(source.secret(named: name) == nil) }
            return source
        }
        guard case .failure(let fault) = source.read("BOTH"), case .failure(let gone) = source.read("GONE"),
            case .success(nil) = source.read("EMPTY")
        else {
            Issue.record("not the faults of these secrets")
            return
        }
        #expect(fault.setting == "BOTH" && gone.setting == "GONE_FILE")
        for text in ["\(source)", String(reflecting: source), "\(fault)"] { #expect(!text.contains("hush")) }
        #expect(
            try withFile("plain: { secret: hush }") { settingsFaults([:], file: $0) }.map(\.setting) == ["plain.secret"]
        )
    }

    @Test("printed settings, dumps of settings and faults of settings show no secret")
    func redaction() throws {
        var environment = [
            "KAFKA_BOOTSTRAP_SERVERS": "b:1", "DATABASE_URL": "postgresql://user:hush@db:5432/receipts?sslmode=require",
            "SUBMISSION_SIGNING_KEYS": "hush-one,hush-two", "KAFKA_PROPERTIES": "sasl.username=u;sasl.password=hush",
        ]
        let settings = try Settings.Reader(environment: environment).read(requiring: [.kafka, .database])
        let summary = settings.redactedSummary
        #expect(summary.count == SettingName.allCases.count)
        #expect(summary.contains { $0 == ("DATABASE_URL", "db:5432/receipts") })
        #expect(summary.contains { $0 == ("KAFKA_PROPERTIES", "sasl.username, sasl.password") })
        #expect(summary.contains { $0 == ("SUBMISSION_SIGNING_KEYS", "2 keys") })
        var dumped = ""
        dump(settings, to: &dumped)
        for text in ["\(summary)", "\(settings)", String(reflecting: settings), dumped] {
            #expect(!text.contains("hush"))
        }

        environment = [
            "DATABASE_URL": "hush", "SUBMISSION_SIGNING_KEYS": "hush,",
            "KAFKA_PROPERTIES": "acks=hush;sasl.password=hush;sasl.password=hush;hush;linger.ms=hush",
        ]
        do throws(SettingsFaults) {
            _ = try Settings.Reader(environment: environment).read(requiring: [])
            Issue.record("faults were expected")
        } catch {
            #expect(error.faults.count == 6)
            #expect(!error.description.contains("hush"))
        }
    }

    @Test(
        "receiptd shows a database URL as host and database, or hides the URL if this part may hold a password",
        arguments: [
            ("postgres://u:p@h/db", "h/db"), ("postgres:///db?host=/run/pg", "/run/pg/db"), ("postgres://h", "h"),
            ("postgres://u:p/q@h/db", "h/db"), ("postgres://u:p@q@h/db", "h/db"), ("postgres://u:p?q@h/db", "(hidden)"),
            ("postgres://u:password", "(hidden)"), ("hush", "(hidden)"), ("", ""),
            ("postgres://[::1]:5/db", "[::1]:5/db"),
            ("postgres://u:p@a:1,b:2/db?password=x", "a:1,b:2/db"),
        ])
    func databasePlace(url: String, shown: String) {
        #expect(DatabasePlace.shown(Secret(url)) == shown)
    }
}

struct KafkaPropertiesTests {
    @Test("the settings split KAFKA_PROPERTIES in order, and report each malformed segment as a fault")
    func list() {
        let list = KafkaPropertyList(" a = b=c ;; d=;\ne.f=g\n")
        #expect(list.pairs.map(\.name) == ["a", "d", "e.f"])
        #expect(list.pairs.map(\.value) == ["b=c", "", "g"])
        #expect(list.faults.isEmpty)
        let faults = KafkaPropertyList("a=1;b;a=2;=3").faults
        #expect(
            faults == [
                "segment 2 has no '=': it must be name=value", "a is given more than once",
                "segment 4 has no name before its '='",
            ])
    }

    static let refused = [
        "enable.auto.commit=true", "auto.commit.enable=1", "enable.auto.offset.store=true", "auto.offset.reset=latest",
        "acks=1", "request.required.acks=0", "enable.idempotence=false", "isolation.level=read_uncommitted",
        "partitioner=random", "max.in.flight=6", "max.in.flight.requests.per.connection=x", "retries=0",
        "message.send.max.retries=0", "bootstrap.servers=other:1", "metadata.broker.list=other:1", "group.id=other",
        "group.id=RECEIPTD", "transactional.id=t", "partition.assignment.strategy=cooperative-sticky",
        "delivery.report.only.error=true", "queuing.strategy=lifo", "offset.store.method=none",
        "group.protocol=consumer",
    ]

    @Test(
        "if the value of a Kafka property would break receiptd's guarantees, the settings refuse the value",
        arguments: refused)
    func protected(property: String) {
        let environment = ["KAFKA_PROPERTIES": property, "KAFKA_BOOTSTRAP_SERVERS": "b:1"]
        #expect(settingsFaults(environment).map(\.setting) == ["KAFKA_PROPERTIES"])
    }

    static let admitted = [
        "enable.auto.commit=FALSE", "enable.auto.offset.store=false", "auto.offset.reset=earliest", "acks=all",
        "acks=-1",
        "request.required.acks=-1", "enable.idempotence=True", "isolation.level=read_committed",
        "partitioner=murmur2_random", "max.in.flight=5", "retries=1", "bootstrap.servers=b:1", "group.id=receiptd",
        "enable.partition.eof=true", "allow.auto.create.topics=true", "group.instance.id=one", "linger.ms=1",
        "partition.assignment.strategy=range,roundrobin",
    ]

    @Test(
        "the settings accept a Kafka property with the value that receiptd itself sets, and any harmless property",
        arguments: admitted)
    func free(property: String) throws {
        let environment = ["KAFKA_PROPERTIES": property, "KAFKA_BOOTSTRAP_SERVERS": "b:1"]
        let settings = try Settings.Reader(environment: environment).read(requiring: [.kafka])
        #expect(settings.kafka.properties.pairs.count == 1)
    }

    @Test("if librdkafka is older than 2.10, the settings refuse cooperative rebalancing")
    func cooperative() {
        let environment = ["KAFKA_PROPERTIES": "partition.assignment.strategy=cooperative-sticky"]
        #expect(settingsFaults(environment, libraryVersion: 0x0209_00FF).count == 1)
        #expect(settingsFaults(environment, libraryVersion: 0x020A_00FF).isEmpty)
    }

    @Test("if librdkafka refuses a Kafka property, the fault names the property and does not show the value")
    func library() {
        do throws(SettingsFaults) {
            _ = try Settings.Reader(environment: ["KAFKA_PROPERTIES": "no.such.name=hush;linger.ms=hush"]).read(
                requiring: [])
            Issue.record("faults were expected")
        } catch {
            #expect(error.faults.map(\.setting) == ["KAFKA_PROPERTIES", "KAFKA_PROPERTIES"])
            #expect(error.description.contains("no.such.name") && error.description.contains("linger.ms"))
            #expect(!error.description.contains("hush"))
        }
    }
}
