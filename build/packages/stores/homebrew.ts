import { MANIFEST } from '../manifest.ts'
import { type Release } from './release.ts'

/**
 * Files of the app that `brew uninstall --zap` removes; a plain `brew uninstall` keeps them. On macOS, servers use the same folder as the
 * app, so nothing else in it is listed.
 */
const SETTINGS = [
  '~/Library/Application Support/berth/desktop.json',
  '~/Library/Application Support/berth/updates',
  '~/Library/Preferences/io.berth.desktop.plist',
]

/**
 * The cask of a version for Homebrew.
 *
 * @see https://docs.brew.sh/Cask-Cookbook
 * @returns undefined without an image for macOS
 */
export function homebrewCask({ version, homepage, files }: Release): string | undefined {
  const images = files.filter(({ kind }) => kind === 'dmg')
  const [first] = images
  if (!first) return undefined
  const arm = images.find(({ arch }) => arch === 'arm64')
  const intel = images.find(({ arch }) => arch === 'x64')
  // An address contains no Ruby syntax: `new URL` has escaped quotes and braces.
  const address = first.url.replace(`-${version}-`, '-#{version}-')
  const ofBoth = arm && intel
  const lines = [
    ...(ofBoth ? ['arch arm: "arm64", intel: "x64"', ''] : []),
    `version "${version}"`,
    ...(ofBoth ? [`sha256 arm:   "${arm.sha256}",`, `       intel: "${intel.sha256}"`] : [`sha256 "${first.sha256}"`]),
    '',
    `url "${ofBoth ? address.replace(/-(?:arm64|x64)\.dmg$/, '-#{arch}.dmg') : address}"`,
    'name "Berth"',
    'desc "Console for GPU container sessions"',
    `homepage "${homepage}"`,
    '',
    ...(ofBoth ? [] : [`depends_on arch: :${arm ? 'arm64' : 'x86_64'}`, '']),
    'app "Berth.app"',
    '',
    'zap trash: [',
    ...SETTINGS.map(path => `  "${path}",`),
    ']',
  ]
  const body = lines.map(line => (line === '' ? '' : `  ${line}`)).join('\n')
  return `# Berth ${version}, ${MANIFEST.license}\ncask "${MANIFEST.name}" do\n${body}\nend\n`
}
