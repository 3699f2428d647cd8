import Foundation
import Testing

@testable import Demo

@Suite("The demo's built-in sample cases")
struct DemoSeedsTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("seeds")

    @Test("the demo's built-in sample cases equal the files in the folder seeds")
    func current() throws {
        let files = DemoSeeds.files(in: SeedArchive.text)
        for file in files {
            #expect(
                try Data(contentsOf: Self.folder.appendingPathComponent(file.path)) == file.content, "\(file.path)")
        }
        let cases = try SeedCase.loadAll(in: Self.folder)
        #expect(
            Set(files.map(\.path)).isSuperset(
                of: cases.flatMap { ["cases/\($0.name)/submissions.jsonl", "cases/\($0.name)/expected.json"] }))
    }

    @Test("the demo unpacks its built-in sample cases into a folder, and removes the folder after use")
    func unpacked() async throws {
        let folder = try await DemoSeeds.builtIn.withFolder { folder in
            let material = try DemoMaterial(folder)
            #expect(try material.cases.map(\.name) == SeedCase.loadAll(in: Self.folder).map(\.name))
            return folder
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("if the given folder of sample cases does not exist, the demo reports the folder as missing")
    func missing() throws {
        #expect(throws: DemoSeeds.Missing.self) { try DemoMaterial(URL(fileURLWithPath: "/nowhere")) }
    }
}
