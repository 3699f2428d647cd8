import BackOffice
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@testable import Administration

@Suite("Files that `grants import` reads")
struct GrantFileTests {
    private static let now = Timestamp(milliseconds: 1_795_167_000_000)

    private func rows(_ lines: [String]) throws -> [GrantFile.Row] {
        var file = GrantFile(now: Self.now)
        return try lines.map { try file.read(.bytes(Array($0.utf8))) }
    }

    private func fault(_ row: GrantFile.Row?) -> String? {
        if case .fault(let message)? = row { message } else { nil }
    }

    @Test("`grants import` reads the same grant from a CSV row and from a JSON line of one purchase")
    func forms() throws {
        let csv = try rows([
            "\u{FEFF}Transaction_ID,original_transaction_id,player_id,bundle_id,product_id,quantity,environment,purchased_at",
            "", #"1000,999,"p, ""one""",b,gold,3,sandbox,1672567200000"#,
        ])
        let json = try rows([
            #"{"transaction_id":1000,"original_transaction_id":"999","player_id":"p, \"one\"","bundle_id":"b","#
                + #""product_id":"gold","quantity":"3","environment":"Sandbox","purchased_at":"2023-01-01T10:00:00Z","x":{}}"#
        ])
        guard case .grant(var first) = csv[2], case .grant(let second) = json[0] else {
            return #expect(Bool(false), "\(csv) \(json)")
        }
        #expect(csv[0] == .nothing && csv[1] == .nothing)
        #expect(first.line == 3)
        first.line = 1
        #expect(first == second)
        #expect(first.playerID == "p, \"one\"" && first.quantity == 3 && first.environment == .sandbox)
        #expect(first.grantedAt == first.purchasedAt)
    }

    @Test("an imported grant's defaults are quantity 1, Production, its own id as original id, and the current time")
    func defaults() throws {
        let row = try rows(["transaction_id,player_id,bundle_id,product_id", "1,p,b,gold"])[1]
        guard case .grant(let grant) = row else { return #expect(Bool(false), "\(row)") }
        #expect(grant.originalTransactionID == "1" && grant.quantity == 1 && grant.environment == .production)
        #expect(grant.purchasedAt == nil && grant.grantedAt == Self.now && grant.submissionID == "import")
    }

    @Test("if a row is faulty, `grants import` reports the row with the reason, and reads the next row")
    func faults() throws {
        let header = "transaction_id,player_id,bundle_id,product_id,quantity,environment,purchased_at"
        let table: [(String, String)] = [
            (",p,b,gold,1,,", "transaction_id is missing"), ("1,,b,gold,1,,", "player_id is missing"),
            ("1,p,b,gold,0,,", "quantity"), ("1,p,b,gold,1.5,,", "quantity"), ("1,p,b,gold,1,Xcode,", "environment"),
            ("1,p,b,gold,1,,yesterday", "purchased_at"), ("1,p,b", "3 fields where the header has 7"),
            (#"1,"p,b,gold,1,,"#, "quotation mark"), (#"1,"p"q,b,gold,1,,"#, "quotation mark"),
            ("1,\(String(repeating: "x", count: 129)),b,gold,1,,", "longer than 128"), ("1,p\0,b,gold,1,,", "NUL"),
        ]
        for (line, expected) in table {
            let read = try rows([header, line, "2,p,b,gold,1,,"])
            #expect(fault(read[1])?.contains(expected) == true, "\(line): \(read[1])")
            #expect(fault(read[2]) == nil)
        }
        var file = GrantFile(now: Self.now)
        _ = try file.read(.bytes(Array(header.utf8)))
        #expect(fault(try file.read(.tooLong)) != nil)
        #expect(fault(try file.read(.bytes([0x31, 0x2C, 0xFF, 0x2C, 0x62, 0x2C, 0x67, 0x2C, 0x2C, 0x2C]))) != nil)
        let json = try rows([#"{"transaction_id":"1"}"#, "{", "[]", #"{"transaction_id":["1"]}"#])
        #expect(json.compactMap(fault).count == 4)
    }

    @Test("`grants import` refuses a transaction id that a spreadsheet altered, such as 4.7E+05, in CSV and in JSON")
    func otherWritings() throws {
        for id in [
            "470001 ", " 470001", "470001.0", "4.7E+05", "'470001", "0470001", "+470001", "470,001", "４７０００１",
            "470001\u{A0}", "\u{200B}470001", "123456789012345678901",
        ] {
            let csv = try rows([
                "transaction_id,player_id,bundle_id,product_id,original_transaction_id", #""\#(id)",p,b,gold,"#,
                #"470001,p,b,gold,"\#(id)""#, "470001,p,b,gold,",
            ])
            #expect(fault(csv[1])?.hasPrefix("transaction_id ") == true, "\(id): \(csv[1])")
            #expect(fault(csv[2])?.hasPrefix("original_transaction_id ") == true, "\(id): \(csv[2])")
            #expect(fault(csv[3]) == nil)
            let rest = #""player_id":"p","bundle_id":"b","product_id":"gold"}"#
            #expect(fault(try rows([#"{"transaction_id":"\#(id)",\#(rest)"#])[0]) != nil, "\(id)")
        }
        for number in ["470001.0", "4.7E+05", "-470001", "0"] {
            let json = #"{"transaction_id":\#(number),"player_id":"p","bundle_id":"b","product_id":"gold"}"#
            #expect(fault(try rows([json])[0]) != nil, "\(number)")
        }
    }

    @Test("`grants import` refuses white space around a value, but allows white space around a column's name")
    func whiteSpace() throws {
        let header = "transaction_id, player_id , bundle_id, product_id,\tsubmission_id"
        let sound = ["1", "p", "b", "gold", "s"]
        #expect(fault(try rows([header, sound.joined(separator: ",")])[1]) == nil)
        for (index, name) in ["transaction_id", "player_id", "bundle_id", "product_id", "submission_id"].enumerated() {
            for blank in [" ", "\t", "\u{A0}", "\u{3000}"] {
                for text in [blank + sound[index], sound[index] + blank] {
                    var fields = sound
                    fields[index] = text
                    let told = fault(try rows([header, fields.joined(separator: ",")])[1])
                    #expect(told?.hasPrefix(name) == true, "\(fields): \(told ?? "taken")")
                }
            }
        }
        let inside = try rows([header, "1,p 1,b,gold bar,s"])[1]
        #expect(fault(inside) == nil)
    }

    @Test("if a JSON line repeats a known member, `grants import` refuses the line")
    func repeatedMembers() throws {
        let line = #"{"transaction_id":"1","player_id":"p","bundle_id":"b","product_id":"gold","quantity":1"#
        #expect(fault(try rows([line + "}"])[0]) == nil)
        for more in [
            #","transaction_id":"2""#, #","player_id":"q""#, #","player_id":"p""#, #","quantity":null"#,
            #","transaction\u005fid":"2""#,
        ] { #expect(fault(try rows([line + more + "}"])[0])?.contains("twice") == true, "\(more)") }
        #expect(fault(try rows([line + #","x":1,"x":2}"#])[0]) == nil)
    }

    @Test("if a CSV header lacks a required column or repeats a column, `grants import` refuses the file")
    func headers() {
        for header in ["transaction_id,player_id,bundle_id", "player_id,player_id", #""transaction_id"#, "1,p,b,gold"] {
            #expect(throws: GrantFile.Unreadable.self) { try rows([header]) }
        }
    }

    @Test("the line reader reads LF and CR LF lines across chunks of the file, and reports a line that is too long")
    func lines() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("lines-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let long = String(repeating: "x", count: LineReader.maximumBytes + 1)
        let many = (0..<40_000).map { "line number \($0)" }
        try ("first\r\n\n" + long + "\n" + many.joined(separator: "\n")).write(
            to: url, atomically: true, encoding: .utf8)
        guard var reader = LineReader(url.path) else { return #expect(Bool(false), "it is there") }
        var read: [String] = []
        while let line = reader.line() {
            switch line {
            case .bytes(let bytes): read.append(String(decoding: bytes, as: UTF8.self))
            case .tooLong: read.append("too long")
            }
        }
        #expect(read == ["first", "", "too long"] + many)
        let (position, size, hasFailed) = (reader.position, reader.size, reader.hasFailed)
        #expect(position == size && !hasFailed)
        let isThere = LineReader("/no/such/file") != nil
        #expect(!isThere)
    }
}
