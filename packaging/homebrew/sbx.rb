# The formula of a release: `brew install sbx-sandbox/tap/sbx`. A cask cannot make the
# links, and what it downloads is quarantined. scripts/dist-recipes.sh fills in the sum.
class Sbx < Formula
  desc "Sandbox for single commands"
  homepage "https://github.com/sbx-sandbox/sbx"
  url "https://github.com/sbx-sandbox/sbx/releases/download/v0.1.0/sbx-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"
  head "https://github.com/sbx-sandbox/sbx.git", branch: "main"

  depends_on "go" => :build

  on_linux do
    depends_on "bubblewrap"
  end

  def install
    system "make", "build", "VERSION=#{version}"
    system "make", "install", "PREFIX=#{prefix}"
    doc.install "THIRD_PARTY_NOTICES"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sbx --version")
    assert_match "--", shell_output("#{bin}/sbx -n -- true")
  end
end
