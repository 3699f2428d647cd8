import Foundation

/// The PostgreSQL of this machine, and who may run it: `initdb` and `postgres` refuse to be root.
struct PostgresInstallation: Sendable {
    private let binaries: String
    private let setpriv: String?
    /// The user to become, when we are root.
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

    /// The command that runs one of PostgreSQL's programs as the right user, and sends it SIGQUIT (which PostgreSQL
    /// takes for "end at once") when this process dies, even by SIGKILL.
    ///
    /// setpriv sets the signal after it changes the user, which would clear it, and then becomes the program: the
    /// process ID is the program's.
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

    /// Whether everybody may go through the directory and all that are above it.
    static func isOpenToAll(_ directory: String) -> Bool {
        var path = URL(fileURLWithPath: directory).resolvingSymlinksInPath()
        while true {
            var status = stat()
            guard stat(path.path, &status) == 0, status.st_mode & S_IXOTH != 0 else { return false }
            if path.path == "/" { return true }
            path.deleteLastPathComponent()
        }
    }

    /// Debian's newest, then the PATH's.
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
