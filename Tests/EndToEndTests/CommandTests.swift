import AppStoreSimulation
import Encodings
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Test("a command exits with 64 for wrong usage, and with 78 for wrong settings, naming all faulty settings")
    func settingsFaults() async throws {
        #expect(try await Program.run(["run", "--no-such-option"]).code == 64)
        #expect(try await Program.run(["no-such-command"]).code == 64)
        #expect(try await Program.run(["inspect", ""]).code == 64)
        #expect(try await Program.run(["--version"]).code == 0)
        // A script that forgets `run` must not take the program's end for success.
        for group in [[], ["holds"], ["parked"], ["dead-letters"], ["grants"], ["catalog"]] {
            let ending = try await Program.run(group)
            #expect(
                ending.code == 64 && ending.errors.contains("USAGE: receiptd") && ending.output.isEmpty, "\(ending)")
            #expect(try await Program.run(group + ["--help"]).code == 0)
        }

        let nothing = try await Program.run(["run"])
        #expect(nothing.code == 78)
        for name in ["KAFKA_BOOTSTRAP_SERVERS", "DATABASE_URL"] { #expect(nothing.errors.contains(name)) }

        let sound = [
            "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "DATABASE_URL": "postgresql://nobody:hush@127.0.0.1:1/none",
        ]
        let faults = [
            "KAFKA_PROPERTIES": "no.such.property=1", "MAX_IN_FLIGHT": "many", "HTTP_PORT": "70000",
            "LOG_FORMAT": "xml",
        ]
        let several = try await Program.run(["run"], environment: sound.merging(faults) { $1 })
        #expect(several.code == 78)
        for name in faults.keys { #expect(several.errors.contains(name), "\(several.errors)") }
        #expect(!several.errors.contains("hush"))

        for property in ["acks=1", "enable.auto.commit=true", "isolation.level=read_uncommitted", "partitioner=random"]
        {
            let ending = try await Program.run(
                ["run"], environment: sound.merging(["KAFKA_PROPERTIES": property]) { $1 })
            #expect(ending.code == 78, "\(property): \(ending.errors)")
            #expect(ending.errors.contains("KAFKA_PROPERTIES"))
        }
    }

    @Test("if PostgreSQL refuses the login, a command exits with 78 and says why; without a server, with 69")
    func databaseRefuses() async throws {
        let uri = try await SharedServer.makeDatabase(isPrepared: false)
        let port = try #require(uri.firstMatch(of: /:(\d+)\//)?.1)
        for (refused, code, words) in [
            ("postgresql://postgres:hush@127.0.0.1:\(port)/nowhere", Int32(78), #"database "nowhere" does not exist"#),
            ("postgresql://nobody:hush@127.0.0.1:\(port)/postgres", 78, #"role "nobody" does not exist"#),
            (
                "postgresql://bob:hush@127.0.0.1:1/shop", 69,
                "Connection refused (127.0.0.1, port 1, user bob, database shop)"
            ),
        ] {
            let ending = try await Program.run(["migrate"], environment: ["DATABASE_URL": refused])
            #expect(ending.code == code && ending.errors.contains(words), "\(ending.code): \(ending.errors)")
            #expect(!ending.errors.contains("hush"))
        }
    }

    @Test("`receiptd migrate` refuses a database whose encoding is not UTF-8, and exits with 78")
    func databaseEncoding() async throws {
        let uri = try await SharedServer.makeDatabase(isPrepared: false)
        try await Seeds.withPool(uri) { pool in
            try await pool.run {
                try $0.run(
                    script:
                        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
            }
        }
        let latin = uri[..<(uri.lastIndex(of: "/") ?? uri.endIndex)] + "/latin"
        let ending = try await Program.run(["migrate"], environment: ["DATABASE_URL": String(latin)])
        #expect(ending.code == 78)
        #expect(ending.errors.contains(#"database "latin" has the encoding LATIN1"#), "\(ending.errors)")
    }

    @Test("`receiptd check` reads a settings file, prefers environment variables, and exits with 78 for unknown keys")
    func settingsFile() async throws {
        try await Testbed.run { bed in
            let given = bed.environment()
            let text = """
                kafka:
                  bootstrapServers: "\(given["KAFKA_BOOTSTRAP_SERVERS"] ?? "")"
                  submissionsTopic: "\(bed.parts.submissionsTopic)"
                  outcomesTopic: "\(bed.parts.outcomesTopic)"
                  deadLettersTopic: "\(bed.parts.deadLettersTopic)"
                  notificationsTopic: "\(bed.parts.notificationsTopic)"
                  groupId: "\(bed.parts.groupID)"
                database: { url: "postgresql://nobody@127.0.0.1:1/none" }
                apple:
                  verifyReceiptProductionUrl: "\(bed.apple.productionURL)"
                  verifyReceiptSandboxUrl: "\(bed.apple.sandboxURL)"
                  serverApiProductionUrl: "\(bed.apple.serverAPIProductionURL)"
                  serverApiSandboxUrl: "\(bed.apple.serverAPISandboxURL)"
                """
            let file = try file(text)
            let wrong = file.deletingLastPathComponent().appendingPathComponent("wrong.yaml")
            try (text + "\nkafka2: { bootstrapServers: x }\nmax: { inFlights: 3 }\n").write(
                to: wrong, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            let failing = try await Program.run(["check", "--config", file.path])
            #expect(failing.code == 69 && failing.output.contains("FAILED  postgresql"), "\(failing)")
            var secrets = ["DATABASE_URL": bed.databaseURL]
            let keyless = try await Program.run(["check", "--config", file.path], environment: secrets)
            #expect(keyless.code == 78 && keyless.output.contains("SEEDS_SERVER_API_KEY is not set"), "\(keyless)")
            #expect(keyless.output.contains("SEEDS_SHARED_SECRET is not set"), "\(keyless)")
            secrets["SEEDS_SERVER_API_KEY_FILE"] = given["SEEDS_SERVER_API_KEY_FILE"]
            let secretless = try await Program.run(["check", "--config", file.path], environment: secrets)
            #expect(secretless.code == 78 && !secretless.output.contains("SEEDS_SERVER_API_KEY"), "\(secretless)")
            secrets["SEEDS_SHARED_SECRET"] = given["SEEDS_SHARED_SECRET"]
            let passing = try await Program.run(["check", "--config", file.path], environment: secrets)
            #expect(passing.code == 0, "\(passing)")
            let faulty = try await Program.run(["check", "--config", wrong.path])
            #expect(faulty.code == 78)
            #expect(faulty.errors.contains("kafka2") && faulty.errors.contains("inFlights"), "\(faulty.errors)")
        }
    }

    @Test("if a service is unreachable or not prepared, `receiptd check` exits with 69 and names the service")
    func services() async throws {
        let nowhere = ["DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"]
        let down = try await Program.run(["migrate"], environment: nowhere)
        #expect(down.code == 69 && !down.errors.isEmpty)
        try await Testbed.run(on: .empty) { bed in
            let unmigrated = try await Program.run(
                ["catalog", "import", Seeds.catalogFile.path], environment: bed.environment())
            #expect(unmigrated.code == 69 && unmigrated.errors.contains("receiptd migrate"), "\(unmigrated)")
            let empty = try await Program.run(["check"], environment: bed.environment())
            for part in ["postgresql", "partitions", "postgresql rights"] {
                #expect(empty.code == 69 && empty.output.contains("FAILED  \(part): "), "\(empty)")
                #expect(empty.output.contains("run `receiptd migrate`"), "\(empty)")
            }
            for _ in 0..<2 { #expect(try await Program.run(["migrate"], environment: bed.environment()).code == 0) }
            let uncatalogued = try await Program.run(["check"], environment: bed.environment())
            #expect(uncatalogued.code == 69 && uncatalogued.output.contains("catalog import"), "\(uncatalogued)")
            try await Seeds.prepare(bed.databaseURL)
            let well = try await Program.run(["check"], environment: bed.environment())
            #expect(well.code == 0, "\(well)")
            // `check` warns of the samples' root certificate, which is not Apple's.
            let lines = well.output.split(separator: "\n")
            #expect(lines.count { $0.hasPrefix("WARN    root certificates: 2 of ") } == 1, "\(well)")
            #expect(lines.count { $0.hasPrefix("ok") } == lines.count - 1, "\(well)")
            #expect(lines.contains { $0.hasPrefix("ok      apple verifyReceipt, the shared secret of ") }, "\(well)")
            try await bed.apple.setOutage(.refuse)
            let appleless = try await Program.run(["check"], environment: bed.environment())
            #expect(appleless.code == 69 && appleless.output.contains("FAILED  apple production"), "\(appleless)")
            let nowhere = try await Program.run(
                ["check"],
                environment: bed.environment().merging([
                    "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": "http://127.0.0.1:1/verifyReceipt"
                ]) { $1 })
            #expect(
                nowhere.output.contains("apple production: no answer from 127.0.0.1:1: connection refused"),
                "\(nowhere)")
        }
    }

    @Test("the catalog commands name all faults of a file; an import removes an app only with --allow-removal")
    func catalogs() async throws {
        try await Testbed.run { bed in
            let faulty = try file(
                """
                apps:
                  - bundle_id: com.example.one
                    colour: red
                    products:
                      - { product_id: a, kind: consumable }
                      - { product_id: a, kind: edible }
                """)
            let small = faulty.deletingLastPathComponent().appendingPathComponent("small.yaml")
            try "apps:\n  - bundle_id: com.example.castle\n    products:\n      - { product_id: a, kind: consumable }\n"
                .write(to: small, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(at: faulty.deletingLastPathComponent()) }
            let settings = bed.environment()
            // An engineer may check a file without a database.
            for (call, environment) in [(["check"], [:]), (["diff"], settings), (["import"], settings)] {
                let refused = try await Program.run(["catalog"] + call + [faulty.path], environment: environment)
                #expect(refused.code == 78)
                for fault in ["colour", "edible", "a"] { #expect(refused.errors.contains(fault), "\(refused.errors)") }
                #expect(refused.errors.split(separator: "\n").count >= 3, "\(refused.errors)")
            }
            let sound = try await Program.run(["catalog", "check", small.path], environment: [:])
            #expect(sound.code == 0 && sound.output == "no fault: apps 1, products 1\n", "\(sound)")
            let vanishing = try await Program.run(["catalog", "import", small.path], environment: settings)
            #expect(vanishing.code == 78 && vanishing.errors.contains("--allow-removal"), "\(vanishing)")
            let difference = try await Program.run(["catalog", "diff", small.path], environment: settings)
            #expect(difference.code == 0 && difference.output.hasPrefix(vanishing.output), "\(difference)")
            #expect(difference.output.contains("- app ") && difference.output.contains("--allow-removal"))
            let told = try await Program.run(
                ["catalog", "import", "--allow-removal", small.path], environment: bed.environment())
            #expect(told.code == 0, "\(told)")
            #expect(try await bed.query("SELECT count(*) FROM catalogs") { $0.int8(0, 0) } == 2)
            let same = try await Program.run(["catalog", "diff", small.path], environment: settings)
            #expect(same.code == 0 && same.output == "nothing changes\n", "\(same)")
            let shown = try await Program.run(["catalog", "show"], environment: settings)
            #expect(shown.code == 0 && shown.output.hasPrefix("# catalog "), "\(shown)")
            let written = try file(shown.output)
            defer { try? FileManager.default.removeItem(at: written.deletingLastPathComponent()) }
            let again = try await Program.run(["catalog", "diff", written.path], environment: settings)
            #expect(again.output == "nothing changes\n", "what is shown can be imported: \(again)")
        }
    }

    @Test("`receiptd submit` publishes all submissions of a file or of standard input, and none if a line is faulty")
    func submitting() async throws {
        let plan = Plan.genuine(count: 20, players: 5)
        let lines = plan.records.map { String(decoding: $0.value ?? [], as: UTF8.self) }
        try await Testbed.run { bed in
            try bed.startWorker()
            let file = try file(lines[..<10].joined(separator: "\n"))
            defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
            let faulty = try await Program.run(
                ["submit"], environment: bed.environment(), input: lines[0] + "\n{\"player_id\": 1}\n")
            #expect(faulty.code == 1 && faulty.errors.contains("line 2"), "\(faulty)")
            let fromFile = try await Program.run(["submit", file.path], environment: bed.environment())
            #expect(fromFile.code == 0 && fromFile.output.contains("10"), "\(fromFile)")
            let fromInput = try await Program.run(
                ["submit", "/dev/stdin"], environment: bed.environment(), input: lines[10...].joined(separator: "\n"))
            #expect(fromInput.code == 0, "\(fromInput)")
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
            #expect(try await bed.committedOffsets().values.reduce(0) { $0 + $1.high } == 20)
        }
    }

    @Test("`receiptd submit` signs submissions with the first key of SUBMISSION_SIGNING_KEYS")
    func submittingSigned() async throws {
        let plan = Plan.genuine(count: 4, players: 2)
        let lines = plan.records.map { String(decoding: $0.value ?? [], as: UTF8.self) }
        try await Testbed.run { bed in
            try bed.startWorker(["SUBMISSION_SIGNING_KEYS": "old,new"])
            let environment = bed.environment(["SUBMISSION_SIGNING_KEYS": "new,newest"])
            let signed = try await Program.run(
                ["submit"], environment: environment, input: lines.joined(separator: "\n"))
            #expect(signed.code == 0 && signed.output.contains("4 submissions published, signed"), "\(signed)")
            try await bed.settle(plan)
            expectNone(try await Checker(bed: bed, plan: plan).problems())
        }
    }

    @Test("`submit --wait` prints the events of its submissions; `outcomes` prints all, new, or one player's events")
    func answers() async throws {
        let plan = Plan.genuine(count: 6, players: 3)
        let lines = plan.records.map { String(decoding: $0.value ?? [], as: UTF8.self) }
        try await Testbed.run { bed in
            let settings = bed.environment()
            let early = try await Program.run(
                ["submit", "--wait", "--seconds", "1"], environment: settings, input: lines[0])
            #expect(early.code == 1 && early.output == "", "\(early)")
            #expect(early.errors.contains("no answer to 1 of 1") && early.errors.contains("receiptd inspect "))
            try bed.startWorker()
            async let following = Program.follow(["outcomes", "--follow"], environment: settings) {
                $0.split(separator: "\n").count >= plan.records.count
            }
            let waited = try await Program.run(
                ["submit", "--wait"], environment: settings, input: lines[1...].joined(separator: "\n"))
            #expect(waited.code == 0 && waited.errors.contains("5 submissions published"), "\(waited)")
            let wanted = try events(lines.joined(separator: "\n"))
            #expect(try events(waited.output) == wanted.subtracting(events(lines[0])))
            #expect(try await events(following) == wanted)
            let all = try await Program.run(["outcomes"], environment: settings)
            #expect(try all.code == 0 && events(all.output) == wanted, "\(all)")
            let player = try #require(wanted.first?.player)
            let theirs = try await Program.run(["outcomes", "--player", player], environment: settings)
            #expect(try events(theirs.output) == wanted.filter { $0.player == player }, "\(theirs)")
            let none = try await Program.run(["outcomes", "--since", "2099-01-01T00:00:00Z"], environment: settings)
            #expect(none.code == 0 && none.output == "", "\(none)")
            #expect(try await Program.run(["outcomes", "--since", "yesterday"], environment: settings).code == 64)
        }
    }

    private struct Named: Hashable {
        let submission, player: String
    }

    private func events(_ lines: String) throws -> Set<Named> {
        Set(
            try lines.split(separator: "\n").map { line in
                let value = try JSONParser.parse(Array(line.utf8)).value
                return Named(
                    submission: try #require(value["submission_id"]?.string),
                    player: try #require(value["player_id"]?.string))
            })
    }

    private func file(_ text: String) throws -> URL {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("receiptd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appendingPathComponent("given.yaml")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }
}
