import ReceiptdConfiguration
import Testing

@testable import Console

@Suite("The console's parts")
struct ConsolePartsTests {
    @Test(
        "a cell that a spreadsheet would run is led by an apostrophe, and what RFC 4180 quotes is quoted",
        arguments: [
            ("plain", "plain"), ("", ""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\""),
            ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\t=1", "'\t=1"), ("  =1", "'  =1"),
            ("=a,b", "\"'=a,b\""), ("\r=1", "\"'\r=1\""), ("＝1", "'＝1"), ("1-1", "1-1"), ("2026-01-01", "2026-01-01"),
        ])
    func csvCell(text: String, cell: String) {
        #expect(CSV.cell(text) == cell)
    }

    @Test("rows end with CR LF, heads first")
    func csv() {
        #expect(CSV.text(["A", "B"], [["1", "x,y"]]) == "A,B\r\n1,\"x,y\"\r\n")
    }

    @Test(
        "a host is known by the console's own names, whatever the port, and by no other",
        arguments: [
            ("localhost", true), ("LOCALHOST:8091", true), ("127.0.0.1:8091", true), ("[::1]:8091", true),
            ("127.9.9.9", true), ("pay.example", true), ("PAY.example:443", true), ("pay.example.", true),
            ("10.0.0.7:8091", true), ("10.0.0.8", false), ("evil.example", false), ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false), ("pay.example.evil.example", false), ("", false), (":", false),
        ])
    func host(host: String, isKnown: Bool) {
        var settings = ConsoleSettings()
        settings.http.host = "10.0.0.7"
        settings.hosts = ["pay.example"]
        #expect(KnownHosts(settings).contain(host) == isKnown)
    }

    @Test(
        "one that listens everywhere is known by any address, and by no name",
        arguments: [
            ("10.0.0.8:8091", true), ("[2001:db8::1]:8091", true), ("host", false), ("1.2.3", false),
            ("1.2.3.4.evil.example", false),
        ])
    func everywhere(host: String, isKnown: Bool) {
        var settings = ConsoleSettings()
        settings.http.host = "0.0.0.0"
        #expect(KnownHosts(settings).contain(host) == isKnown)
    }

    @Test(
        "a form comes from the host that it is sent to, or from a proxy's",
        arguments: [
            ("http://10.0.0.7:8091", true), ("https://pay.example", true), ("https://PAY.example:8443", true),
            ("http://10.0.0.7:8092", false), ("http://localhost:8091", false), ("https://evil.example", false),
            ("null", false), ("", false), ("https://pay.example.evil.example", false),
        ])
    func sender(origin: String, mayPost: Bool) {
        var settings = ConsoleSettings()
        settings.http.host = "10.0.0.7"
        settings.hosts = ["pay.example"]
        #expect(KnownHosts(settings).mayPost(from: origin, to: "10.0.0.7:8091") == mayPost)
    }

    @Test(
        "after signing in it leads only to its own pages",
        arguments: [
            ("/held?page=2", "/held?page=2"), ("//evil.example", "/"), ("https://evil.example", "/"),
            ("/\\evil.example", "/"), ("/a\r\nSet-Cookie: b", "/"), ("", "/"),
        ])
    func next(wanted: String, page: String) {
        #expect(Console.next(wanted) == page)
        #expect(Console.next(nil) == "/")
    }

    @Test("wrong passwords of one name wait longer and longer, and only a few wait at once")
    func limit() {
        let limit = SignInLimit()
        let ann = SignInLimit.Origin.user("ann")
        var waits: [Double] = []
        for _ in 0..<6 {
            #expect(limit.begin(ann, now: 0))
            waits.append(limit.failed(ann, now: 0))
            limit.end(ann, isRight: false)
        }
        #expect(waits == [1, 2, 4, 8, 16, 16])
        for _ in 0..<SignInLimit.maximumWaitingOfOne { #expect(limit.begin(ann, now: 0)) }
        #expect(!limit.begin(ann, now: 0))
        for number in 0..<(SignInLimit.maximumWaiting - SignInLimit.maximumWaitingOfOne) {
            #expect(limit.begin(.user("n\(number)"), now: 0))
        }
        #expect(!limit.begin(.user("another"), now: 0))
        limit.end(.user("n0"), isRight: true)
        #expect(limit.begin(.user("another"), now: 0))
        for _ in 0..<SignInLimit.maximumWaitingOfOne { limit.end(ann, isRight: true) }
        #expect(limit.begin(ann, now: 0) && limit.failed(ann, now: 0) == 1)
        limit.end(ann, isRight: false)
        #expect(limit.begin(ann, now: SignInLimit.forgottenAfterSeconds))
        #expect(limit.failed(ann, now: SignInLimit.forgottenAfterSeconds) == 1)
    }

    @Test("made-up names take no user's place, and no guessing keeps a user out of a browser that is known")
    func keptOut() throws {
        let passwords = Passwords([
            ConsoleSettings.User(name: "ann", role: .operate, password: Secret("a-long-one")),
            ConsoleSettings.User(name: "bob", role: .read, password: Secret("a-long-one")),
        ])
        let limit = SignInLimit()
        for number in 0..<SignInLimit.maximumWaitingOfOne {
            #expect(limit.begin(passwords.origin("made up \(number)", mark: nil), now: 0))
        }
        #expect(!limit.begin(passwords.origin("made up", mark: nil), now: 0))
        for _ in 0..<SignInLimit.maximumWaitingOfOne {
            #expect(limit.begin(passwords.origin("ann", mark: nil), now: 0))
        }
        #expect(!limit.begin(passwords.origin("ann", mark: nil), now: 0))
        #expect(limit.begin(passwords.origin("bob", mark: nil), now: 0))

        let mark = try #require(passwords.mark(of: "ann")).text
        let known = passwords.origin("ann", mark: mark)
        #expect(limit.begin(known, now: 0) && limit.failed(known, now: 0) == 1)
        // It is no other user's, no other password's, and nobody can make one up.
        #expect(passwords.origin("bob", mark: mark) == .user("bob"))
        let changed = Passwords([ConsoleSettings.User(name: "ann", role: .operate, password: Secret("another"))])
        #expect(changed.origin("ann", mark: mark) == .user("ann"))
        for forged in ["", ".", mark + "0", String(mark.dropLast()), mark.replacing(".", with: "")] {
            #expect(passwords.origin("ann", mark: forged) == .user("ann"))
        }
        #expect(passwords.mark(of: "made up") == nil)
    }

    @Test("a session ends after its time, and the oldest makes room")
    func sessions() {
        let sessions = Sessions()
        let user = ConsoleUser(name: "ann", mayChange: true)
        let first = sessions.start(user, now: 0)
        #expect(first.id.utf8.count == 64 && first.token.utf8.count == 64 && first.id != first.token)
        #expect(sessions.find(first.id, now: 1)?.user == user)
        #expect(sessions.find(first.id, now: Sessions.seconds) == nil)
        #expect(sessions.find("", now: 1) == nil && sessions.find(nil, now: 1) == nil)
        let old = sessions.start(user, now: 1)
        for _ in 0..<Sessions.maximum { _ = sessions.start(user, now: 2) }
        #expect(sessions.find(old.id, now: 3) == nil)
        let ended = sessions.start(user, now: 3)
        sessions.end(ended.id)
        #expect(sessions.find(ended.id, now: 3) == nil)
    }

    @Test("passwords are told apart, with colons in them, and each belongs to its name")
    func passwords() {
        let passwords = Passwords([
            .init(name: "ann", role: .operate, password: Secret("a:b")),
            .init(name: "rob", role: .read, password: Secret("c")),
        ])
        #expect(passwords.user("ann", password: "a:b") == ConsoleUser(name: "ann", mayChange: true))
        #expect(passwords.user("rob", password: "c") == ConsoleUser(name: "rob", mayChange: false))
        for (name, password) in [
            ("ann", "c"), ("rob", "a:b"), ("ann", ""), ("", ""), ("zoe", "nobody"), ("ANN", "a:b"),
        ] {
            #expect(passwords.user(name, password: password) == nil, "\(name)")
        }
    }
}
