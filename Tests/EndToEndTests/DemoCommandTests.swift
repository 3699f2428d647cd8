import EmbeddedPostgres
import Foundation
import Kafka
import TestSupport
import Testing

@testable import Demo

@Suite("The demo as a process of its own", .wholeSystem)
struct DemoCommandTests {
    /// An environment that the demo must ignore. It has addresses where nobody listens, and libpq's variables for
    /// another server.
    private static let hostile = [
        "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "KAFKA_PROPERTIES": "security.protocol=SSL", "PGHOST": "127.0.0.1", "PGHOSTADDR": "192.0.2.1", "PGPORT": "1",
        "PGSERVICE": "none", "PGOPTIONS": "-c no.such=thing -c search_path=nowhere", "PGUSER": "nobody",
    ]

    private struct Running {
        let process: ChildProcess
        let output: String

        var text: String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }
    }

    private func start(_ folder: URL, _ options: [String] = []) throws -> Running {
        let output = folder.appendingPathComponent("output").path
        var start = ChildProcess.Start([try Program.path(), "demo"] + options, log: output)
        start.environment = Self.hostile.merging([
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "TMPDIR": folder.path,
        ]) { $1 }
        start.endsWithUs = true
        return Running(process: try ChildProcess(start), output: output)
    }

    private func children(of parent: Int32) -> [Int32: String] {
        var found: [Int32: String] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(name),
                let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                let behind = status.lastIndex(of: ")"),
                status[behind...].split(separator: " ").dropFirst(2).first == "\(parent)",
                let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline")
            else { continue }
            found[process] = String(decoding: line.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self)
        }
        return found
    }

    /// Returns the directory in the command line `postgres -D DIRECTORY/data …`; nil if there is no such line.
    private func dataDirectory(_ commands: some Collection<String>) -> String? {
        commands.lazy.compactMap { line -> String? in
            let words = line.split(separator: " ")
            return words.firstIndex(of: "-D").map { String(words[words.index(after: $0)]) }
        }.first
    }

    @Test(
        "the demo ignores the environment's service addresses, and after a signal leaves no process and no directory",
        arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let demo = try start(folder)
        var known: [Int32: String] = [:]
        try await eventually("the worker runs") {
            known.merge(children(of: demo.process.processID)) { $1 }
            return known.values.contains { $0.hasSuffix("receiptd run ") } || !demo.process.isRunning
        }
        #expect(demo.process.isRunning, "\(demo.text)")
        let data = try #require(dataDirectory(known.values), "\(known)")
        #expect(FileManager.default.fileExists(atPath: data))
        demo.process.send(signal)
        let code = try await blocking { demo.process.wait() }
        #expect(code == 128 + signal, "\(demo.text)")
        for process in known.keys { #expect(kill(process, 0) != 0, "\(known[process] ?? "") still runs") }
        #expect(!FileManager.default.fileExists(atPath: data) && !FileManager.default.fileExists(atPath: data + "/.."))
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left == ["output"], "\(left)")
        #expect(
            demo.text.contains("The demo ignores KAFKA_BOOTSTRAP_SERVERS, DATABASE_URL, PGHOST"), "\(demo.text)")
        #expect(demo.text.contains("a real broker with --kafka, a real database with --database"))
    }

    @Test("`demo --live` decides simulated traffic, and serves the worker's page and the console until a signal")
    func live() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let demo = try start(folder, ["--live"])
        var address: Substring?
        try await eventually("it prints the page's address") {
            address = demo.text.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\//)?.1
            return address != nil || !demo.process.isRunning
        }
        let port = try #require(address.flatMap { Int($0) }, "\(demo.text)")
        try await eventually("purchases are granted, and others' receipts refused") {
            guard let text = try? await HTTPProbe.get(port: port, "/metrics").body else { return false }
            let metrics = Scrape(text)
            return (metrics[#"receiptd_outcomes_total{type="receipt.granted",reason=""}"#] ?? 0) > 5
                && (metrics[#"receiptd_submissions_total{class="foreign"}"#] ?? 0) > 5
        }
        #expect(try await HTTPProbe.get(port: port, "/").status == 200)
        let console = demo.text.firstMatch(of: /The console: +http:\/\/127\.0\.0\.1:(\d+)\//)?.1
        let consolePort = try #require(console.flatMap { Int($0) }, "\(demo.text)")
        try await eventually("the console is there") {
            (try? await HTTPProbe.get(port: consolePort, "/readyz").status) == 200
        }
        let demonstrator = try await ConsoleClient.signedIn(port: consolePort, "demo", "demo")
        for list in ["held", "parked", "unclaimed", "dead-letters"] {
            try await eventually("the console's page of \(list) has a row") {
                guard let file = try? await demonstrator.get("/\(list).csv"), file.status == 200 else { return false }
                return file.body.split(separator: "\r\n").count > 1
            }
        }
        demo.process.send(SIGINT)
        #expect(try await blocking { demo.process.wait() } == 128 + SIGINT, "\(demo.text)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["output"])
    }

    @Test("`demo --database` replays every case on the given database, with the expected outcomes", .takesLong)
    func named() async throws {
        let uri = try await SharedServer.makeDatabase(isPrepared: false)
        let ending = try await Program.run(
            ["demo", "--seeds", Seeds.directory.path, "--database", uri],
            environment: [
                "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
                "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
            ])
        #expect(ending.code == 0, "\(ending)")
        #expect(ending.output.contains("Every outcome is as its case expects."), "\(ending)")
    }
}
