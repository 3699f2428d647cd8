import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Reads the rows of an imported file. If the first line is a JSON object, the file has JSON lines. Otherwise the file
/// is CSV with a header.
package struct GrantFile {
    private enum Form {
        case json
        case csv(header: [String])
    }

    /// The file's header lacks a column or cannot be read, so no row can be read.
    package struct Unreadable: Error, Equatable {
        package let message: String
    }

    package enum Row: Equatable {
        case grant(ImportedGrant)
        case fault(String)
        /// The header of a CSV file, or an empty line.
        case nothing
    }

    /// The columns that the import ignores.
    package private(set) var ignored: [String] = []
    package private(set) var line = 0
    private var form: Form?
    private let now: Timestamp

    package init(now: Timestamp) {
        self.now = now
    }

    package mutating func read(_ read: LineReader.Line) throws(Unreadable) -> Row {
        line += 1
        guard case .bytes(var bytes) = read else { return .fault("longer than \(LineReader.maximumBytes) bytes") }
        // Spreadsheets put a byte order mark in front.
        if line == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return .nothing }
        switch form {
        case nil:
            if bytes.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "{") {
                form = .json
                return row(jsonLine: bytes)
            }
            form = .csv(header: try header(bytes))
            return .nothing
        case .json: return row(jsonLine: bytes)
        case .csv(let header): return row(csvLine: bytes, header)
        }
    }

    private mutating func header(_ bytes: [UInt8]) throws(Unreadable) -> [String] {
        guard
            let names = CSVLine.fields(bytes).map({ fields in
                fields.map { String(String(decoding: $0, as: UTF8.self).lowercased().trimmed) }
            })
        else { throw Unreadable(message: "line \(line): a quotation mark is not closed") }
        guard Set(names).count == names.count else {
            throw Unreadable(message: "line \(line): the header has a column twice")
        }
        let missing = GrantFields.required.filter { !names.contains($0) }
        guard missing.isEmpty else {
            throw Unreadable(message: "line \(line): the header lacks \(missing.joined(separator: ", "))")
        }
        ignored = names.filter { !GrantFields.columns.contains($0) }
        return names
    }

    private func row(csvLine bytes: [UInt8], _ header: [String]) -> Row {
        guard let fields = CSVLine.fields(bytes) else { return .fault("a quotation mark is not closed") }
        guard fields.count == header.count else {
            return .fault("\(fields.count) fields where the header has \(header.count)")
        }
        var values: [String: String] = [:]
        for (name, field) in zip(header, fields) {
            guard let text = String(validating: field, as: UTF8.self) else { return .fault("\(name) is not UTF-8") }
            values[name] = text
        }
        return row(values)
    }

    private func row(jsonLine bytes: [UInt8]) -> Row {
        let value: JSONValue
        do { value = try JSONParser.parse(bytes).value } catch { return .fault("not JSON: \(error.message)") }
        guard case .object(let members) = value else { return .fault("not a JSON object") }
        var values: [String: String] = [:]
        var seen: Set<String> = []
        for member in members where GrantFields.columns.contains(member.name) {
            // The file does not say which of the two values counts.
            guard seen.insert(member.name).inserted else { return .fault("the line has \(member.name) twice") }
            switch member.value {
            case .string(let text), .number(let text): values[member.name] = text
            case .null: break
            case .bool, .array, .object: return .fault("\(member.name) is neither text nor a number")
            }
        }
        return row(values)
    }

    private func row(_ values: [String: String]) -> Row {
        do throws(GrantFields.Fault) {
            return .grant(try GrantFields(values: values, line: line).grant(now: now))
        } catch {
            return .fault(error.message)
        }
    }
}
