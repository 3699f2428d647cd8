import Foundation

/// Copies of a server's data directory. With them tests show clients a restored snapshot or a fail-over.
extension EmbeddedPostgres {
    private var copy: String { directory + "/copy" }

    /// Copies the data directory of the stopped server. The copy replaces an earlier one.
    public func keepCopy() throws {
        try? FileManager.default.removeItem(atPath: copy)
        // cp keeps the owner and the modes: postgres refuses a directory that others may read.
        try ChildProcess.run(["/bin/cp", "-a", data, copy], log: log)
    }

    /// Replaces the stopped server's data directory by the copy of `keepCopy`: the same timeline, at an earlier place.
    /// The copy stays.
    public func putCopyBack() throws {
        try FileManager.default.removeItem(atPath: data)
        try ChildProcess.run(["/bin/cp", "-a", copy, data], log: log)
    }

    /// Starts a standby of this running server, on a port of its own, in a temporary directory. The standby follows
    /// asynchronously, so the primary's commits do not wait for it.
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

    /// Makes a standby a primary, on the next timeline. The old primary hears nothing of it and lives on.
    public func promote() throws {
        try ChildProcess.run(installation.command("pg_ctl", ["promote", "-w", "-D", data]), log: log)
    }

    /// Replaces this server's databases by another server's. Both servers must be stopped; the other one has no
    /// databases afterwards.
    public func takeOver(_ other: EmbeddedPostgres) throws {
        try FileManager.default.removeItem(atPath: data)
        try ChildProcess.run(["/bin/mv", other.data, data], log: log)
    }
}
