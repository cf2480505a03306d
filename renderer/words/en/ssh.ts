import { defineWords } from '../i18n.ts'

const en = {
  sshTo: 'SSH and SFTP to <name>{name}</name>',
  openingTunnel: 'Opening the tunnel',
  openingTunnelText: 'Opening the tunnel…',
  address: 'Address',
  port: 'Port',
  user: 'User',
  hostKey: 'Host key',
  keyProtects: 'Any user of this computer can try to connect to this port; the key protects it.',
  stays: 'The connection stays open until you sign out or Berth stops.',
  staysInApp: 'The connection stays open until you sign out or quit the app, which asks first.',
  howProtected: 'How it is protected',
  copyRemoved: 'Berth removes its copy of the key when the tunnel closes.',
  settingsAt: 'A preferred port, and ~/.ssh/config, are in your <link>preferences</link>.',
  facts: 'For other programs',
  privateKey: 'Private key of this session',
  keyOpenssh: 'OpenSSH key',
  keyPutty: 'PuTTY, WinSCP',
  keyFileZilla: 'File → Import',
  fileZillaSite: 'FileZilla site',
  keyAbout:
    'The key opens only this session, until the session ends. Keep the key to yourself; ssh refuses a key file that others can read (<code>chmod 600 id_container</code>).',
  howToConnect: 'How to connect',
  commands: 'Commands',
  editors: 'Editors',
  forwardsInherited:
    'Your ~/.ssh/config forwards ports for every host, so also for this session: <code>{forwards}</code>. Programs in the session could use a RemoteForward to reach services of this computer. The commands here leave your file out; for editors, put these lines into a block <code>Host * !berth-*</code>.',
  hostInConfig: 'While this is open, <code>ssh {alias}</code> is all you need: the host is in your ~/.ssh/config.',
  shell: 'Shell',
  filesInteractive: 'Files, interactive',
  copyFile: 'Copy a file',
  synchroniseFolder: 'Synchronise a folder',
  psftp: "PuTTY's psftp",
  openInVsCode: 'Open in VS Code',
  needsExtension:
    'Needs the extension “Remote - SSH”. Other editors that read ~/.ssh/config know the host as <code>{alias}</code>.',
  configElsewhere:
    'VS Code finds hosts in ~/.ssh/config of the computer it runs on, and this console does not write there. Add a host with the address, port, user and key below.',
  stepsFileZilla:
    '<b>FileZilla:</b> download the site file and id_container, choose File → Import, then connect to “{name}”.',
  stepsPutty:
    '<b>PuTTY:</b> Host <code>{host}</code>, port <code>{port}</code>; Connection → Data → user <code>{user}</code>; SSH → Auth → Credentials → id_container.ppk.',
  stepsWinScp:
    '<b>WinSCP:</b> the same values; Advanced → SSH → Authentication → id_container.ppk. <link>Open in WinSCP</link>',
  compareKey: 'At the first connection, compare the host key with the fingerprint below.',
  closeTunnel: 'Close tunnel',
  done: 'Done',

  // Settings
  settingsTitle: 'SSH and SFTP on this computer',
  unproven:
    'Berth does not know that this browser runs on its computer. Prove it, or use the desktop app or the <code>berth</code> command, which need no proof.',
  remote:
    'This browser runs on another computer than Berth. To open and set up SSH connections, use the desktop app or the <code>berth</code> command on your computer.',
  otherAccount:
    'Berth runs under another account of this computer than yours, and writes no SSH files for you. Use the desktop app or the <code>berth</code> command.',
  localPort: 'Local port',
  anyPort: 'Any free port',
  tryPreferred: 'Try a preferred port first',
  preferredPort: 'Preferred SSH port',
  preferredHint:
    'From 10000 to 65000, few other programs use ports. One session at a time can have the preferred port. If it is in use, Berth says by what, and offers any free port.',
  addToConfig: 'Add sessions to ~/.ssh/config',
  addToConfigHint: 'While a connection is open, ssh and editors such as VS Code can use the name of the session.',
  saved: 'Saved. Open connections keep their port.',
  portRule: 'Enter a number from {lowest} to {highest}',
  openIn: 'Open in a program of this computer',
  inTerminal: 'Terminal',
  inVsCode: 'VS Code',
  inCursor: 'Cursor',
  inPutty: 'PuTTY',
  inWinScp: 'WinSCP',
  inGateway: 'JetBrains Gateway',
  inFileZilla: 'FileZilla',
  asDrive: 'Mount as a drive',
} as const

export default en
export const t = defineWords('ssh', en)
