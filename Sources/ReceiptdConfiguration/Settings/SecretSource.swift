/// Reads secrets by name: from the environment variable `NAME`, or from the file whose path is in `NAME_FILE`. The
/// credentials that the catalog names have no other source. A file is read at each use, so that a changed secret takes
/// effect.
package struct SecretSource: Sendable {
    static let maximumFileSize = 65_536

    private let environment: [String: String]

    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// Returns the secret; nil if the secret is not set or cannot be read.
    package func secret(named name: String) -> String? {
        guard case .success(let secret) = read(name) else { return nil }
        return secret?.value
    }

    /// Returns the secret; nil if the secret is not set. Fails if the secret cannot be read.
    package func read(_ name: String) -> Result<Secret?, SettingsFault> {
        Self.resolve(name, value: environment[name], file: environment[name + "_FILE"])
    }

    /// Returns a secret from its value or its file. An empty text counts as no value.
    static func resolve(
        _ name: String, value: String?, file: String?, line: Int? = nil
    ) -> Result<Secret?, SettingsFault> {
        let fileName = name + "_FILE"
        switch (value.nonEmpty, file.nonEmpty) {
        case (nil, nil): return .success(nil)
        case (let value?, nil): return .success(Secret(value))
        case (_?, _?):
            return .failure(SettingsFault(name, "is set, and \(fileName) too: set only one of them", line: line))
        case (nil, let path?):
            do throws(BoundedFile.Fault) {
                let text = try BoundedFile.readText(path, limit: maximumFileSize).withoutTrailingNewline
                guard !text.isEmpty else { return .failure(SettingsFault(fileName, "the file is empty", line: line)) }
                return .success(Secret(text))
            } catch {
                return .failure(SettingsFault(fileName, "the file \(error.message)", line: line))
            }
        }
    }
}

extension SecretSource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "SecretSource" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension String? {
    fileprivate var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}

extension String {
    /// The text without a newline (`\n` or `\r\n`) at its end.
    fileprivate var withoutTrailingNewline: String {
        last == "\n" || last == "\r\n" ? String(dropLast()) : self
    }
}
