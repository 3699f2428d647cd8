import Yams

/// Calls the YAML library, and turns its errors into faults with their positions.
enum YAMLParsing {
    struct Parsed {
        let root: Node?
        let parser: Parser
        let repeatedKeys: RepeatedKeys
    }

    struct Faults: Error {
        let faults: [YAMLFault]
    }

    /// The number of bytes below which Swift stores a string outside the heap. The text must be on the heap, because
    /// the library keeps the text's address.
    private static let smallText = 16

    static func parse(_ text: String) -> Result<Parsed, Faults> {
        var repeatedKeys = RepeatedKeys()
        var text = text
        if text.utf8.count < smallText { text += String(repeating: " ", count: smallText) }
        text.makeContiguousUTF8()
        while true {
            do {
                // With this resolver `no`, `1e3` and dates stay text, and the library compares keys as text.
                let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
                return .success(Parsed(root: try parser.singleRoot(), parser: parser, repeatedKeys: repeatedKeys))
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                guard let renamed = repeatedKeys.renaming(in: text, at: context.mark) else {
                    return .failure(Faults(faults: [repeatedKeys.fault(of: names, at: context.mark)]))
                }
                text = renamed
            } catch {
                return .failure(Faults(faults: [fault(error, repeatedKeys)]))
            }
        }
    }

    private static func fault(_ error: any Error, _ repeatedKeys: RepeatedKeys) -> YAMLFault {
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _):
            let place = context.map { " (\($0.text) that began in line \($0.mark.line))" } ?? ""
            return YAMLFault(position: repeatedKeys.original(mark), message: "not YAML: \(problem)\(place)")
        case YamlError.composer(_, let problem, let mark, _):
            return YAMLFault(position: repeatedKeys.original(mark), message: "not one YAML document: \(problem)")
        case YamlError.reader(let problem, let offset, _, let yaml):
            let before = yaml.prefix(offset ?? 0)
            let line = before.count { $0.isNewline } + 1
            let column = before.reversed().prefix { !$0.isNewline }.count + 1
            return YAMLFault(position: TextPosition(line: line, column: column), message: "not YAML: \(problem)")
        default:
            return YAMLFault(position: TextPosition(line: 1, column: 1), message: "cannot be read as YAML")
        }
    }
}
