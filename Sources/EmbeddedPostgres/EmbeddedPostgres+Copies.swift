import Foundation

/// Copies a server's data directory, so that tests can restore a snapshot or fail over to a standby.
extension EmbeddedPostgres {
    private var copy: String { directory + "/copy" }

    /// Copies the data directory. The server must be stopped. The copy replaces an earlier copy.
    public func keepCopy() throws {
        try? FileManager.default.removeItem(atPath: copy)
        // `cp -a` keeps the owner and the modes. postgres refuses a directory that other users may read.
        try ChildProcess.run(["/bin/cp", "-a", data, copy], log: log)
    }

    /// Replaces the data directory by the copy of `keepCopy`. The server must be stopped. The server's timeline stays
    /// the same, at an earlier position. The copy stays too.
    public func putCopyBack() throws {
        try FileManager.default.removeItem(atPath: data)
        try ChildProcess.run(["/bin/cp", "-a", copy, data], log: log)
    }

    /// Starts a standby of this running server, on its own port and in a temporary directory. Replication is
    /// asynchronous, so commits on the primary do not wait for the standby.
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

    /// Makes this standby a primary, on the next timeline. The old primary does not notice and keeps running.
    public func promote() throws {
        try ChildProcess.run(installation.command("pg_ctl", ["promote", "-w", "-D", data]), log: log)
    }

    /// Replaces this server's databases by the databases of `other`. Both servers must be stopped. Afterwards `other`
    /// has no databases.
    public func takeOver(_ other: EmbeddedPostgres) throws {
        try FileManager.default.removeItem(atPath: data)
        try ChildProcess.run(["/bin/mv", other.data, data], log: log)
    }
}
