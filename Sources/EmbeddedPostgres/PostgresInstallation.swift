import Foundation

/// The PostgreSQL of this machine, and the user that runs it, because `initdb` and `postgres` refuse to run as root.
struct PostgresInstallation: Sendable {
    private let binaries: String
    private let setpriv: String?
    /// The user to become if we are root; nil otherwise.
    private let user: (name: String, id: uid_t, group: gid_t)?

    init() throws {
        binaries = try Self.findBinaries()
        setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].first(where: FileManager.default.isExecutableFile(atPath:))
        guard geteuid() == 0 else {
            user = nil
            return
        }
        guard let entry = getpwnam("postgres") else {
            throw EmbeddedPostgresError(description: "as root, PostgreSQL needs the user postgres: there is none")
        }
        guard setpriv != nil else {
            throw EmbeddedPostgresError(description: "as root, PostgreSQL needs setpriv (util-linux): there is none")
        }
        user = ("postgres", entry.pointee.pw_uid, entry.pointee.pw_gid)
    }

    /// Returns the command that runs one of PostgreSQL's programs as the right user. The kernel sends the program
    /// SIGQUIT when this process dies, even by SIGKILL, and PostgreSQL then ends at once.
    ///
    /// setpriv changes the user, which would clear that signal, before it sets the signal. Then setpriv becomes the
    /// program, so the process id is the program's.
    func command(_ program: String, _ arguments: [String]) -> [String] {
        var command: [String] = []
        if let setpriv {
            command = [setpriv, "--pdeathsig=QUIT"]
            if let user { command += ["--reuid=\(user.name)", "--regid=\(user.group)", "--init-groups"] }
        }
        return command + ["\(binaries)/\(program)"] + arguments
    }

    /// Gives the directory to the user that the server runs as.
    func own(_ directory: String) throws {
        guard let user else { return }
        guard chown(directory, user.id, user.group) == 0 else {
            throw EmbeddedPostgresError(description: "cannot give \(directory) to \(user.name): errno \(errno)")
        }
    }

    /// A temporary directory that the server may reach: `TMPDIR`, unless it is root's own and closed to the server.
    var temporaryParent: String {
        let directory = NSTemporaryDirectory()
        return user == nil || Self.isOpenToAll(directory) ? directory : "/tmp"
    }

    /// Returns whether everybody may pass through the directory and all directories above it.
    static func isOpenToAll(_ directory: String) -> Bool {
        var path = URL(fileURLWithPath: directory).resolvingSymlinksInPath()
        while true {
            var status = stat()
            guard stat(path.path, &status) == 0, status.st_mode & S_IXOTH != 0 else { return false }
            if path.path == "/" { return true }
            path.deleteLastPathComponent()
        }
    }

    /// Returns the folder of Debian's newest version; without one, the first folder of PATH that has `initdb` and
    /// `postgres`.
    private static func findBinaries() throws -> String {
        let debian = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let newest = versions.compactMap(Int.init).sorted(by: >).map { "\(debian)/\($0)/bin" }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let found = (newest + path).first {
            FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
                && FileManager.default.isExecutableFile(atPath: "\($0)/postgres")
        }
        guard let found else {
            throw EmbeddedPostgresError(description: "no PostgreSQL server: neither in \(debian) nor in the PATH")
        }
        return found
    }
}
