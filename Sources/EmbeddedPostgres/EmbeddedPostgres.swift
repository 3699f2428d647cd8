import Foundation
import Synchronization

/// A temporary PostgreSQL server for tests and demonstrations, on 127.0.0.1 without passwords. It ends when this
/// process ends, even if this process is killed. All calls block the thread, usually for at most a second.
public final class EmbeddedPostgres: Sendable {
    /// The most tries to start if other programs take the chosen ports.
    private static let maximumPorts = 5

    /// The server's TCP port, which a restart does not change.
    public var port: Int { listening.withLock { $0.port } }
    private let listening: Mutex<Listening>
    let installation: PostgresInstallation
    let directory: String
    private let isTemporary: Bool
    /// The settings in postgres's form, `name=value`.
    let settings: [String]
    /// The running server; nil while the server is stopped. Starting and stopping hold the lock.
    private let server = Mutex<ChildProcess?>(nil)
    /// The lock for creating a database, because PostgreSQL cannot copy a template twice at the same time.
    private let creation = Mutex<Void>(())

    private struct Listening {
        var port: Int
        /// True once a caller may have read the port, which then must not change.
        var hasBegun = false
    }

    var data: String { directory + "/data" }
    var log: String { directory + "/log" }

    /// The URI `postgresql://postgres@127.0.0.1:PORT/postgres`.
    public var uri: String { uri(database: "postgres") }

    /// The server's process id; 0 while it is stopped. The server's sessions are its child processes.
    public var processID: Int32 { server.withLock { $0?.processID ?? 0 } }

    /// The process ids of the server and its child processes; empty while the server is stopped.
    public var processIDs: [Int32] {
        let server = processID
        guard server != 0 else { return [] }
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return [server] + all.compactMap { Int32($0) }.filter { Self.parent(of: $0) == server }
    }

    /// Returns the parent's process id, the fourth field of Linux's `stat`. The second field is a name, which may
    /// contain spaces and parentheses.
    private static func parent(of process: Int32) -> Int32? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let name = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: name)...].split(separator: " ")
        return fields.count > 1 ? Int32(fields[1]) : nil
    }

    public func uri(database: String) -> String {
        let name = database.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? database
        return "postgresql://postgres@127.0.0.1:\(port)/\(name)"
    }

    /// Starts a server. Without `directory` the server uses a new temporary directory, which `stop` removes. A given
    /// directory stays, and a later start finds its databases again. The server's user must be able to reach the
    /// directory.
    /// - Parameters:
    ///   - durable: false, for tests, makes writes faster, and a crash of the machine may then destroy the databases. A
    ///     crash of the server alone destroys nothing. The server then also has no autovacuum, because autovacuum would
    ///     visit hundreds of small databases in turn.
    ///   - settings: PostgreSQL's settings, by name.
    ///   - port: the port to try first, for tests; nil for a free port.
    public static func start(
        directory: String? = nil, durable: Bool = true, settings: [String: String] = [:], port: Int? = nil
    ) throws -> EmbeddedPostgres {
        let speed = [
            "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off",
        ]
        let all = (durable ? [:] : speed).merging(settings) { $1 }
        let server = try EmbeddedPostgres(
            directory: directory, settings: all.map { "\($0.key)=\($0.value)" }.sorted(), port: port)
        do {
            try server.initialize()
            try server.startServer()
        } catch {
            server.stop()
            throw error
        }
        return server
    }

    init(directory: String?, settings: [String], port: Int? = nil) throws {
        installation = try PostgresInstallation()
        isTemporary = directory == nil
        listening = Mutex(Listening(port: try port ?? FreePort.find()))
        self.settings = settings
        if let directory {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            self.directory = directory
        } else {
            let parent = installation.temporaryParent
            var template = Array("\(parent.hasSuffix("/") ? parent : parent + "/")embedded-postgres-XXXXXX".utf8CString)
            guard let made = mkdtemp(&template) else {
                throw EmbeddedPostgresError(description: "cannot make a directory in \(parent): errno \(errno)")
            }
            self.directory = String(cString: made)
        }
    }

    deinit { stop() }

    private func initialize() throws {
        guard !FileManager.default.fileExists(atPath: data + "/PG_VERSION") else { return }
        try prepareDirectory()
        try ChildProcess.run(
            installation.command(
                "initdb",
                ["--no-sync", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D", data]),
            log: log)
    }

    func prepareDirectory() throws {
        try installation.own(directory)
        ExitCleanup.set(.init(directory: isTemporary ? directory : nil), for: data)
    }

    /// Starts a server that `stopServer` has stopped. Does nothing if the server runs.
    public func startServer() throws {
        try server.withLock { server in
            if let running = server, running.exit.current == nil { return }
            for attempt in 1... {
                let process = try launch()
                server = process
                do {
                    try waitUntilReady(process)
                    return listening.withLock { $0.hasBegun = true }
                } catch {
                    guard attempt < Self.maximumPorts, try takesAnotherPort() else { throw error }
                }
            }
        }
    }

    private func launch() throws -> ChildProcess {
        // The server has no socket file, because the path of a socket file may have at most 107 bytes.
        let arguments =
            ["-D", data, "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
            + settings.flatMap { ["-c", $0] }
        let process = try ChildProcess(.init(installation.command("postgres", arguments), log: log))
        ExitCleanup.set(.init(process: process.processID, directory: isTemporary ? directory : nil), for: data)
        return process
    }

    /// Chooses another port if the port is taken and no caller has read the port. Returns true if it chose one. initdb
    /// runs for seconds between the choice of a free port and the server's start, so another program may take the port.
    private func takesAnotherPort() throws -> Bool {
        guard ChildProcess.tail(of: log).contains("Address already in use") else { return false }
        let another = try FreePort.find()
        return listening.withLock { listening in
            guard !listening.hasBegun else { return false }
            listening.port = another
            return true
        }
    }

    /// Stops the server and keeps its databases. With `crashing` the server writes no checkpoint, as in a power cut.
    public func stopServer(crashing: Bool = false) {
        server.withLock { server in
            guard let process = server else { return }
            server = nil
            // SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate shutdown, and SIGKILL always works. The
            // server gets 10 s after each signal.
            for signal in (crashing ? [] : [SIGINT]) + [SIGQUIT, SIGKILL] where process.exit.current == nil {
                kill(process.processID, signal)
                _ = process.exit.wait(seconds: 10)
            }
        }
        ExitCleanup.set(.init(directory: isTemporary ? directory : nil), for: data)
    }

    public func restart() throws {
        stopServer()
        try startServer()
    }

    /// Stops the server, and removes its temporary directory. A second call does nothing.
    public func stop() {
        stopServer()
        if isTemporary { try? FileManager.default.removeItem(atPath: directory) }
        ExitCleanup.set(nil, for: data)
    }

    /// Creates a database as a copy of `template`, and returns its URI.
    @discardableResult
    public func createDatabase(_ name: String, template: String = "template1") throws -> String {
        try creation.withLock { _ in
            try ChildProcess.run(
                installation.command(
                    "createdb",
                    ["-h", "127.0.0.1", "-p", "\(port)", "-U", "postgres", "-T", template] + fileCopy + [name]),
                log: log)
        }
        return uri(database: name)
    }

    /// The option with which PostgreSQL copies a template's files. Since version 15, PostgreSQL otherwise also writes
    /// each page of the copy to the write-ahead log. Older versions always copy the files, and know no such option.
    private var fileCopy: [String] {
        let version = (try? String(contentsOfFile: data + "/PG_VERSION", encoding: .utf8)) ?? ""
        return (Int(version.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) >= 15 ? ["--strategy=file_copy"] : []
    }

    /// Waits until postgres writes in the eighth line of `postmaster.pid` that it is ready. pg_ctl waits in the same
    /// way.
    private func waitUntilReady(_ process: ChildProcess) throws {
        let limit = Date(timeIntervalSinceNow: 30)
        while process.exit.current == nil, Date() < limit {
            let text = (try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)) ?? ""
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            // A standby writes `standby` once it accepts readers.
            if lines.count > 7, lines[0] == "\(process.processID)",
                lines[7].hasPrefix("ready") || lines[7].hasPrefix("standby")
            {
                return
            }
            _ = process.exit.wait(seconds: 0.005)
        }
        throw EmbeddedPostgresError(description: "the server did not start: \(ChildProcess.tail(of: log))")
    }
}
