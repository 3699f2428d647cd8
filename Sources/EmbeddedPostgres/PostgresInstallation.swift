import Foundation

/// The PostgreSQL that is installed on this machine, and the user that runs it. `initdb` and `postgres` refuse to run
/// as root.
struct PostgresInstallation: Sendable {
    private let binaries: String
    private let setpriv: String?
    /// The user that runs PostgreSQL if this process runs as root; nil otherwise.
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

    /// Returns the command that runs one of PostgreSQL's programs as the right user. When this process ends, even by
    /// SIGKILL, the kernel sends the program SIGQUIT, which ends PostgreSQL at once.
    ///
    /// A change of the user would clear the signal's setting. So setpriv first changes the user, and then sets the
    /// signal. Then setpriv executes the program, which keeps setpriv's process id.
    func command(_ program: String, _ arguments: [String]) -> [String] {
        var command: [String] = []
        if let setpriv {
            command = [setpriv, "--pdeathsig=QUIT"]
            if let user { command += ["--reuid=\(user.name)", "--regid=\(user.group)", "--init-groups"] }
        }
        return command + ["\(binaries)/\(program)"] + arguments
    }

    /// Makes the server's user the owner of the directory.
    func own(_ directory: String) throws {
        guard let user else { return }
        guard chown(directory, user.id, user.group) == 0 else {
            throw EmbeddedPostgresError(description: "cannot give \(directory) to \(user.name): errno \(errno)")
        }
    }

    /// The parent of temporary directories: `TMPDIR`, unless the server's user cannot enter it.
    var temporaryParent: String {
        let directory = NSTemporaryDirectory()
        return user == nil || Self.isOpenToAll(directory) ? directory : "/tmp"
    }

    /// Returns true if every user may enter the directory and all directories above it.
    static func isOpenToAll(_ directory: String) -> Bool {
        var path = URL(fileURLWithPath: directory).resolvingSymlinksInPath()
        while true {
            var status = stat()
            guard stat(path.path, &status) == 0, status.st_mode & S_IXOTH != 0 else { return false }
            if path.path == "/" { return true }
            path.deleteLastPathComponent()
        }
    }

    /// Returns the folder with Debian's newest PostgreSQL. Without such a folder, returns the first folder of PATH with
    /// `initdb` and `postgres`.
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
