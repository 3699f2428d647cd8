import Administration
import BackOffice
import Dispatch
import Fulfillment
import HTTPTypes
import Logging
import NamesAndTimes
import Operations
import OperationsHTTP
import Postgres
import ReceiptdConfiguration

struct Console: Sendable {
    let pool: PostgresPool
    let passwords: Passwords
    let hosts: KnownHosts
    let metrics: ReceiptdMetrics
    let logger: Logger
    let sessions = Sessions()
    let limit = SignInLimit()
    let farSearch = FarSearch()
    /// The session of every visitor of a console without users. This session may change nothing.
    private let nobodys: Sessions.Session

    init(settings: ConsoleSettings, pool: PostgresPool, metrics: ReceiptdMetrics, logger: Logger) {
        self.pool = pool
        passwords = Passwords(settings.users)
        hosts = KnownHosts(settings)
        self.metrics = metrics
        self.logger = logger
        nobodys = sessions.start(ConsoleUser(name: nil, mayChange: false), now: 0)
    }

    static var now: Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

    func answer(_ request: ConsoleRequest) async throws -> ConsoleAnswer {
        guard hosts.contain(request.host) else {
            return Self.text(
                "This console does not know the host of this address. Ask an operator to add it to CONSOLE_HOSTS.\n",
                .misdirectedRequest)
        }
        switch (request.method, request.path) {
        case (.get, "/style.css"), (.head, "/style.css"):
            return ConsoleAnswer(type: "text/css; charset=utf-8", body: ConsoleStyle.css)
        case (.get, "/sign-in"), (.head, "/sign-in"):
            return ConsoleAnswer(body: SignInPage(next: Self.next(request.query["next"])).html)
        case (.post, "/sign-in"): return try await signIn(request)
        default: break
        }
        guard let session = passwords.isEmpty ? nobodys : sessions.find(request.sessionID, now: Self.now) else {
            if request.method == .post {
                return ConsoleAnswer(
                    status: .unauthorized,
                    body: SignInPage(
                        message: "You are no longer signed in, so nothing was done. Sign in and make the change again."
                    ).html)
            }
            let wanted = ConsolePage.address(request.path, request.query.sorted { $0.key < $1.key }.map { ($0, $1) })
            return .seeOther(ConsolePage.address("/sign-in", wanted == "/" ? [] : [("next", wanted)]))
        }
        switch request.method {
        case .get, .head: return try await show(request, session)
        case .post: return try await change(request, session)
        default:
            return Self.text("The console answers GET and POST only.\n", .methodNotAllowed)
        }
    }

    static func text(_ words: String, _ status: HTTPResponse.Status) -> ConsoleAnswer {
        ConsoleAnswer(status: status, type: "text/plain; charset=utf-8", body: words)
    }

    static func message(
        _ words: String, _ status: HTTPResponse.Status, title: String, session: Sessions.Session?
    ) -> ConsoleAnswer {
        let main = "<p class=\"message\" role=\"alert\">\(HTMLText.shown(words))</p>"
        return ConsoleAnswer(status: status, body: ConsolePage(title: title, session: session, main: main).html)
    }

    /// Returns the path to open after signing in: a path of the console, or `/` for anything else.
    static func next(_ wanted: String?) -> String {
        guard let wanted, wanted.hasPrefix("/"), !wanted.hasPrefix("//"), !wanted.contains("\\"),
            wanted.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F })
        else { return "/" }
        return wanted
    }

    /// Returns true if the browser says that a page of another site sent the request.
    func isForged(_ request: ConsoleRequest) -> Bool {
        if let site = request.fetchSite, site != "same-origin", site != "none" { return true }
        guard let origin = request.origin else { return false }
        return !hosts.mayPost(from: origin, to: request.host)
    }
}
