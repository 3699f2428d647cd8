import ReceiptdConfiguration
import Testing

@testable import Console

@Suite("The console's CSV files, host names, sign-ins, sessions and passwords")
struct ConsolePartsTests {
    @Test(
        "the console puts an apostrophe before a CSV cell that a spreadsheet would run, and quotes by RFC 4180",
        arguments: [
            ("plain", "plain"), ("", ""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\nb", "\"a\nb\""),
            ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\t=1", "'\t=1"), ("  =1", "'  =1"),
            ("=a,b", "\"'=a,b\""), ("\r=1", "\"'\r=1\""), ("＝1", "'＝1"), ("1-1", "1-1"), ("2026-01-01", "2026-01-01"),
            ("\u{FEFF}=1", "'\u{FEFF}=1"), ("\u{200B}\u{1}-1", "'\u{200B}\u{1}-1"), ("\u{FEFF}1", "\u{FEFF}1"),
        ])
    func csvCell(text: String, cell: String) {
        #expect(CSV.cell(text) == cell)
    }

    @Test(
        "the console shows a price without needless zeros, with at most three decimals",
        arguments: [
            (19_990, "19.99 EUR"), (4_500, "4.50 EUR"), (120_000, "120 EUR"), (1_234_567, "1234.567 EUR"),
            (50, "0.05 EUR"),
            (5, "0.005 EUR"), (0, "0 EUR"), (-4_990, "-4.99 EUR"),
        ] as [(Int64, String)])
    func price(milliunits: Int64, text: String) {
        #expect(ShownPrice.text(milliunits, "EUR") == text)
        #expect(ShownPrice.text(nil, "EUR").isEmpty && ShownPrice.text(milliunits, nil).isEmpty)
    }

    @Test("a console filter keeps white space in the ids of player and product, because ids are compared byte by byte")
    func filteredIDs() throws {
        let fields = ["player": " bob", "product": "gold\u{A0}", "bundle": "", "reason": "crashed"]
        let filter = try #require(
            ListFilter(fields, reasons: ["crashed"], parts: [.player, .product], ages: []))
        #expect(filter.playerID == " bob" && filter.productID == "gold\u{A0}")
        #expect(filter.bundleID == nil && filter.reason == "crashed")
    }

    @Test("a CSV file of the console begins with its header row, and each row ends with CR LF")
    func csv() {
        #expect(CSV.text(["A", "B"], [["1", "x,y"]]) == "A,B\r\n1,\"x,y\"\r\n")
    }

    @Test(
        "the console accepts a Host header with its own names and any port, and refuses other names",
        arguments: [
            ("localhost", true), ("LOCALHOST:8091", true), ("127.0.0.1:8091", true), ("[::1]:8091", true),
            ("127.9.9.9", true), ("pay.example", true), ("PAY.example:443", true), ("pay.example.", true),
            ("10.0.0.7:8091", true), ("10.0.0.8", false), ("evil.example", false), ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false), ("pay.example.evil.example", false), ("", false), (":", false),
            ("[::1].evil", false), ("[::1].evil.example:8091", false), ("[::1]evil", false), ("[::1]:80.evil", false),
            ("[::1", false), ("localhost:80.evil", false), ("localhost:evil", false), ("localhost:80:evil", false),
        ])
    func host(host: String, isKnown: Bool) {
        var settings = ConsoleSettings()
        settings.http.host = "10.0.0.7"
        settings.hosts = ["pay.example"]
        #expect(KnownHosts(settings).contain(host) == isKnown)
    }

    @Test(
        "if the console listens on every address, it accepts any address as Host, and no name",
        arguments: [
            ("10.0.0.8:8091", true), ("[2001:db8::1]:8091", true), ("host", false), ("1.2.3", false),
            ("[2001:db8::1].evil", false), ("10.0.0.8:80.evil", false),
            ("1.2.3.4.evil.example", false),
        ])
    func everywhere(host: String, isKnown: Bool) {
        var settings = ConsoleSettings()
        settings.http.host = "0.0.0.0"
        #expect(KnownHosts(settings).contain(host) == isKnown)
    }

    @Test(
        "the console accepts a form from its own origin or a configured proxy's origin, and from no other origin",
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
        "after a sign-in, the console redirects to its own pages only",
        arguments: [
            ("/held?page=2", "/held?page=2"), ("//evil.example", "/"), ("https://evil.example", "/"),
            ("/\\evil.example", "/"), ("/a\r\nSet-Cookie: b", "/"), ("", "/"),
        ])
    func next(wanted: String, page: String) {
        #expect(Console.next(wanted) == page)
        #expect(Console.next(nil) == "/")
    }

    private static func hash(_ password: String) throws -> PasswordHash {
        try #require(PasswordHash(of: password))
    }

    @Test("each wrong password for a name doubles the console's delay, up to 16 s; the console limits waiting sign-ins")
    func limit() {
        let limit = SignInLimit()
        let ann = SignInLimit.Origin.name(0)
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
            #expect(limit.begin(.name(UInt16(1 + number)), now: 0))
        }
        #expect(!limit.begin(.name(1_000), now: 0))
        limit.end(.name(1), isRight: true)
        #expect(limit.begin(.name(1_000), now: 0))
        for _ in 0..<SignInLimit.maximumWaitingOfOne { limit.end(ann, isRight: true) }
        #expect(limit.begin(ann, now: 0) && limit.failed(ann, now: 0) == 1)
        limit.end(ann, isRight: false)
        #expect(limit.begin(ann, now: SignInLimit.forgottenAfterSeconds))
        #expect(limit.failed(ann, now: SignInLimit.forgottenAfterSeconds) == 1)
    }

    @Test("the console delays and limits wrong passwords for an unknown name as for a user's name")
    func unknownNames() async throws {
        let passwords = Passwords([.init(name: "ann", role: .operate, password: try Self.hash("a-long-one"))])
        func waits(_ name: String) -> [Double] {
            let limit = SignInLimit()
            let origin = passwords.origin(name, mark: nil)
            // Sign-ins with made-up names must not change the waits and places of `name`. The key of the codes is
            // random, so one of 65,536 names has the code of `name`.
            for number in 0..<20 {
                let other = passwords.origin("made up \(number)", mark: nil)
                guard other != origin else { continue }
                #expect(limit.begin(other, now: 0))
                #expect(limit.failed(other, now: 0) >= 1)
                limit.end(other, isRight: false)
            }
            var waits: [Double] = []
            while limit.begin(origin, now: 0) { waits.append(limit.failed(origin, now: 0)) }
            return waits
        }
        #expect(waits("ann") == [1, 2, 4, 8])
        #expect(waits("nobody") == waits("ann"))
        for name in ["ann", "nobody"] {
            let origin = passwords.origin(name, mark: nil)
            #expect(await passwords.user(name, password: "wrong", from: origin) == nil)
        }
    }

    @Test(
        "if guessers occupy all places for sign-ins, a user's known browser can sign in; a forged cookie does not help"
    )
    func keptOut() throws {
        let hash = try Self.hash("a-long-one")
        let passwords = Passwords([
            .init(name: "ann", role: .operate, password: hash), .init(name: "bob", role: .read, password: hash),
        ])
        let limit = SignInLimit()
        for number in 0..<SignInLimit.maximumWaiting { #expect(limit.begin(.name(UInt16(number)), now: 0)) }
        let mark = try #require(passwords.mark(of: "ann")).text
        let known = passwords.origin("ann", mark: mark)
        #expect(known.isBrowser)
        #expect(limit.begin(known, now: 0) && limit.failed(known, now: 0) == 1)
        // The mark is valid for this user with this password only, and nobody can forge a mark.
        #expect(passwords.origin("bob", mark: mark) == passwords.origin("bob", mark: nil))
        let changed = Passwords([.init(name: "ann", role: .operate, password: try Self.hash("a-long-one"))])
        #expect(!changed.origin("ann", mark: mark).isBrowser)
        for forged in ["", ".", mark + "0", String(mark.dropLast()), mark.replacing(".", with: "")] {
            #expect(!passwords.origin("ann", mark: forged).isBrowser)
        }
        #expect(passwords.mark(of: "made up") == nil)
    }

    @Test("a console session ends after its lifetime, or when newer sessions need its place")
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

    @Test("a password, even with a colon, signs only its own user in to the console")
    func passwords() async throws {
        let passwords = Passwords([
            .init(name: "ann", role: .operate, password: try Self.hash("a:b")),
            .init(name: "rob", role: .read, password: try Self.hash("c")),
        ])
        func user(_ name: String, _ password: String) async -> ConsoleUser? {
            await passwords.user(name, password: password, from: passwords.origin(name, mark: nil))
        }
        #expect(await user("ann", "a:b") == ConsoleUser(name: "ann", mayChange: true))
        #expect(await user("rob", "c") == ConsoleUser(name: "rob", mayChange: false))
        for (name, password) in [
            ("ann", "c"), ("rob", "a:b"), ("ann", ""), ("", ""), ("zoe", "nobody"), ("ANN", "a:b"),
        ] {
            #expect(await user(name, password) == nil, "\(name)")
        }
    }

    @Test("the console hashes a password with a new salt each time, and verifies scrypt hashes of other programs")
    func hashes() throws {
        let hash = try Self.hash("a right: password")
        #expect(hash.text != (try Self.hash("a right: password")).text)
        #expect(!hash.text.contains("a right"))
        let read = try #require(PasswordHash(hash.text))
        #expect(read == hash && read.matches("a right: password") && !read.matches("a right: password "))
        #expect(!hash.ofNobody.matches("a right: password"))
        // RFC 7914's third vector, with its salt as other programs write it.
        let vector = try #require(
            PasswordHash(
                "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUk"
                    + "Kpr55h6F3A1lHkDfzwF7RVdYhw"))
        #expect(vector.matches("pleaseletmein"))
        #expect(!vector.matches("pleaseletmeinn"))
        #expect("\(hash)" == "PasswordHash")
    }

    @Test(
        "the console refuses a malformed password hash, and a hash that is too costly to verify",
        arguments: [
            "", "secret-9", "$scrypt$", "$2b$12$abcdefghijklmnopqrstuv",
            "$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
            "$scrypt$ln=15,r=8,p=99$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
            "$scrypt$ln=15,r=8,p=1$c2E$aGFzaGhhc2hoYXNoaGFzaA",
            "$scrypt$ln=15,r=8,p=1$c2FsdHNhbHQ$aGFz", "$scrypt$ln=+15,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA",
        ])
    func noHash(text: String) {
        #expect(PasswordHash(text) == nil)
    }
}
