import { escapeXml } from './quoting.ts'

/**
 * A site of FileZilla's site manager, to be imported there. Protocol 1 is SFTP, logon type 5 a key file. Only the site manager
 * can log on by key; an sftp:// address cannot.
 *
 * @param keyFile path of id_container on the user's computer; FileZilla reads both formats
 */
export function filezillaSite(site: {
  readonly name: string
  readonly port: number
  readonly user: string
  readonly keyFile: string
  /** Components of the first directory; the home directory of a session if left out. */
  readonly directory?: readonly string[]
}): string {
  const { directory = ['home', 'work'] } = site
  return `<?xml version="1.0" encoding="UTF-8"?>
<FileZilla3>
  <Servers>
    <Server>
      <Host>127.0.0.1</Host>
      <Port>${site.port}</Port>
      <Protocol>1</Protocol>
      <Type>0</Type>
      <User>${escapeXml(site.user)}</User>
      <Keyfile>${escapeXml(site.keyFile)}</Keyfile>
      <Logontype>5</Logontype>
      <EncodingType>UTF-8</EncodingType>
      <BypassProxy>1</BypassProxy>
      <Name>${escapeXml(site.name)}</Name>
      <RemoteDir>${['1 0', ...directory.map(name => `${name.length} ${escapeXml(name)}`)].join(' ')}</RemoteDir>
      <SyncBrowsing>0</SyncBrowsing>
      <DirectoryComparison>0</DirectoryComparison>
    </Server>
  </Servers>
</FileZilla3>
`
}
