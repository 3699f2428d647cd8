import Foundation

/// Copies of a server's data directory: what a restored snapshot and a fail-over do to those who are connected.
extension EmbeddedPostgres {
    private var copy: String { directory + "/copy" }

    /// Keeps the data directory of the stopped server as it is now, in the place of the copy before.
    public func keepCopy() throws {
        try? FileManager.default.removeItem(atPath: copy)
        // cp, for the owner and the modes: postgres refuses a directory that others may read.
        try ChildProcess.run(["/bin/cp", "-a", data, copy], log: log)
    }

    /// Puts what `keepCopy` kept in the place of the stopped server's data directory: the same timeline, at an earlier
    /// place. The copy stays.
    public func putCopyBack() throws {
        try FileManager.default.removeItem(atPath: data)
        try ChildProcess.run(["/bin/cp", "-a", copy, data], log: log)
    }

    /// Starts a standby of this running server, on a port of its own, in a temporary directory. It follows without
    /// holding up the primary's commits, as standbys do by default.
    public func startStandby() throws -> EmbeddedPostgres {
        let standby = try EmbeddedPostgres(directory: nil, settings: settings)
        do {
            try standby.prepareDirectory()
            try ChildProcess.run(
                installation.command(
                    "pg_basebackup",
                    [
                        "-h", "127.0.0.1", "-p", "\(port)", "-U", "postgres", "-D", standby.data, "-X", "stream",
                        "-c", "fast", "-R", "--no-sync",
                    ]),
                log: standby.log)
            try standby.startServer()
        } catch {
            standby.stop()
            throw error
        }
        return standby
    }

    /// Makes a standby a primary, on the next timeline. The one it followed is told nothing and lives on.
    public func promote() throws {
        try ChildProcess.run(installation.command("pg_ctl", ["promote", "-w", "-D", data]), log: log)
    }

    /// Takes another stopped server's databases in the place of its own. Both are stopped; the other one has none left.
    public func takeOver(_ other: EmbeddedPostgres) throws {
        try FileManager.default.removeItem(atPath: data)
        try ChildProcess.run(["/bin/mv", other.data, data], log: log)
    }
}
