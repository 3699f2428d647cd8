import Foundation

/// Runs `Fuzz list`, `Fuzz seeds FOLDER` or `Fuzz growth [PARSER]`. With a parser's name in `FUZZ_PARSER` it runs
/// libFuzzer with libFuzzer's arguments. The name is in a variable, because libFuzzer may restart the program.
@main
struct Fuzz {
    static func main() throws {
        if let name = ProcessInfo.processInfo.environment["FUZZ_PARSER"] {
            guard let target = FuzzTarget.named(name) else { throw Usage.unknownParser(name) }
            exit(LibFuzzer.run(target))
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "list": for target in FuzzTarget.all { print(target.name) }
        case "seeds" where arguments.count == 2: try writeSeeds(URL(filePath: arguments[1]))
        case "growth": Growth.measure(FuzzTarget.all.filter { arguments.count < 2 || $0.name == arguments[1] })
        default: throw Usage.wrongArguments
        }
    }

    enum Usage: Error {
        case unknownParser(String)
        case wrongArguments
    }

    /// Writes a folder of inputs and a dictionary for each parser.
    private static func writeSeeds(_ folder: URL) throws {
        for target in FuzzTarget.all {
            let inputs = folder.appending(path: target.name)
            try FileManager.default.createDirectory(at: inputs, withIntermediateDirectories: true)
            for (index, seed) in try target.seeds().enumerated() {
                try Data(seed).write(to: inputs.appending(path: "seed-\(index)"))
            }
            let lines = target.words.map { word in
                "\"" + word.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\"\n"
            }
            try lines.joined().write(
                to: folder.appending(path: "\(target.name).dict"), atomically: true, encoding: .utf8)
        }
    }
}
