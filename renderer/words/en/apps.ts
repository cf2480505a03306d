import { defineWords } from '../i18n.ts'

const en = {
  appsOf: 'Apps of <name>{name}</name>',
  appsAndPorts: 'Apps, and ports and links',
  apps: 'Apps',
  portsAndLinks: 'Ports and links',
  onceRunning: 'Apps open once the session runs. Now: {status}. {reason}',
  hostAway: 'The host of this session is not connected. Apps answer when the host is back.',
  tryPreferred: 'Try preferred port',
  preferredPort: 'Preferred port',
  portRange: '1024 to 65535',
  willBeAsked: 'If the port is in use, you will be asked.',
  otherwise: 'Otherwise Berth uses the port this app had before, or any free one.',
  openHere: 'Open on this computer',
  noneOpen: 'No app is open. An app that you open gets an address that only this computer can reach.',
  moreOfOthers: '{count, plural, other {# more of other sessions}}',

  // Dialog of an app
  startingApp: 'Starting {app}',
  startingFor: 'Starting… {time}',
  tabBlocked: 'Your browser blocked the new tab.',
  openApp: 'Open {app}',
  listeningOn: 'Listening on <code>{address}</code>',
  viewerVnc: 'Address for your VNC viewer',
  viewerVncHelp:
    'TigerVNC takes two colons before the port. A viewer with a field for the port gets <code>{host}</code> and <code>{port}</code>; others take <code>{host}:{port}</code>.',
  viewerRdp: 'Computer for your Remote Desktop program',
  viewerRdpHelp: 'On Linux: <code>xfreerdp /v:{host}:{port}</code>',
  viewerPassword: 'If the viewer asks for a user or a password: the image sets them. The tunnel adds none.',
  openedInTab: 'Opened in a new tab.',
  terminal: 'Terminal',
  port: 'Port {port}',
  sshAndSftp: 'SSH and SFTP',
  hintTerminal: 'A shell that survives reconnects',
  hintSsh: 'Files and a shell from your own programs',
  hintJupyterLab: 'Notebooks, files and consoles',
  hintNotebook: 'Notebooks in the browser',
  hintCode: 'An editor in the browser',
  hintCharts: 'Charts of your training runs',
  hintDesktop: 'A graphical desktop',
  hintWeb: 'Opens in a new tab',
  hintPort: 'A port for your own program',

  // Options of an app
  chooseOptions: 'Start with options',
  optionsTitle: 'Options of {app}',
  optionsAbout: 'The app starts with these. If it runs with others, it is started again, which ends its connections.',
  startWithOptions: 'Start',
  logDirectory: 'Log directory',
  logDirectoryHint: 'Directory in the session in which your program writes its logs.',
  arguments: 'Arguments',
  valueOf: 'Value of {name}',
  noValue: 'no value',
  variables: 'Environment variables',
  variablesNotKept: 'Arguments are remembered for this image on this computer; values of variables are not.',

  // Another port
  openAnotherPort: 'Open another port',
  anotherPortAbout: 'A server that you started in the session, such as Gradio on port 7860 or PostgreSQL on port 5432.',
  anotherWebPortAbout: 'A web server that you started in the session, such as Gradio on port 7860.',
  portInSession: 'Port in the session',
  portPlaceholder: 'Port',
  anyPortRange: '1 to 65535',
  openThePort: 'Open the port',
  inBrowser: 'In the browser',
  forProgram: 'For a program',
  openPort: 'Open port',
  serverSpeaksTls: 'The server speaks https',

  // For programs
  forPrograms: 'For programs',
  programsAbout:
    'A program, such as a client of a model server, reaches an app or a port at this address with an access token. A token that you make here reaches this app alone.',
  aPort: 'A port',
  makeToken: 'Make token',
  programAddress: 'Address for programs',
  programLine: 'To try it',
  tokenForApp:
    'It is shown only now. The program sends it as "Authorization: Bearer …", or as "Berth-Authorization: Bearer …" if the app has an Authorization of its own. It ends after 30 days; your account page lists it.',

  // Open to public
  openToPublic: 'Open to public',
  publicAbout: 'A link opens an app to people who have no account here, until the link ends.',
  newLink: 'New link',
  publicWarning: 'Anybody with the link can use the app as you do. A notebook gives them your files and a shell.',
  publicApp: 'App',
  publicFor: 'The link lasts',
  forHours: '{count, plural, one {# hour} other {# hours}}',
  forDays: '{count, plural, one {# day} other {# days}}',
  publicPassword: 'Password (optional)',
  publicPasswordHint:
    'At least 8 characters with a letter, a digit and a special character. Send the password by another way than the link.',
  publicPasswordRule: 'Use at least 8 characters with a letter, a digit and a special character, or leave it empty',
  publicAddresses: 'Allowed client addresses (optional)',
  publicAddressesHint: 'Such as 203.0.113.7 or 203.0.113.0/24, separated by spaces. Empty: any.',
  publicPortRange: '{first} to {last}',
  publicPortHint: 'Optional, {first} to {last}. If it is in use, the link gets another port.',
  makeLink: 'Make link',
  linkTo: 'Link to {app}',
  endLink: 'End',
  endLinkOf: 'End the link to {app}',
  linkEnded:
    'The link to {app} has ended{count, plural, =0 {. No visitor was connected.} one {, and with it # connection of a visitor.} other {, and with it # connections of visitors.}}',
  linkUntil: 'until {time}',
  linkVisits: '{count, plural, one {# visit} other {# visits}}',
  linkPassword: 'asks for a password',
  linkNoPassword: 'no password',
  linkFrom: 'only from {addresses}',
  publicLinks: 'Links open to public',
  publicLinksAbout:
    'Anybody with one of these links can use the app. A link ends with its session, or when you end it.',

  // A browser on another computer
  elsewhereTitle: 'SSH, SFTP and ports for programs',
  elsewhereAbout:
    'This browser runs on another computer than Berth. Programs on your computer reach the session with the desktop app or the berth command.',
  elsewhereAll:
    'This browser runs on another computer than Berth, and Berth has no address for web apps yet; an administrator can set one. The desktop app and the berth command open everything.',
  openInDesktopApp: 'Open in the desktop app',
  lineSsh: 'Shell',
  lineSftp: 'Files',
  linePort: 'A port for a program, such as PostgreSQL on port 5432',
  lineSignIn: 'Sign in once',
  whereToGet: 'I have neither of them',
  whereToGetText:
    'Both are in the Berth package for your system. Ask an administrator of this Berth where to get it, install it on your computer, and connect it to the address of this page.',

  // Open tunnels
  open: 'Open',
  openIt: 'Open',
  reconnecting: 'Reconnecting',
  signedOut: 'Sign in to continue',
  ended: 'Ended',
  connections: '{count, plural, one {# connection} other {# connections}}',
  sent: 'sent',
  received: 'received',
  closeTunnel: 'Close, and end its connections',
  closeApp: 'Close {app} at port {port}',
  rates: '↑ {up}/s ↓ {down}/s',
  copyAddress: 'Copy the address',
  copyAddressOf: 'Copy the address {address}',
  addressCopied: '{address} copied',
  tunnels: 'Tunnels',
  tunnelsAbout:
    'Ports of this computer that lead to apps of your sessions. A tunnel closes when you close it, when its session ends, and when you sign out.',
  noTunnels: 'No tunnels are open',
  noTunnelsText: 'A tunnel opens when you open an app of a session, or connect with SSH.',
  toSessions: 'To the sessions',
  tunnelsElsewhere: 'Tunnels are not on this computer',
  tunnelsElsewhereText:
    'This browser runs on another computer than Berth. Use the desktop app or the berth command to open ports of your computer.',
  folderPort: 'SFTP of all folders',

  // A port that is taken
  portInUse: 'Port {port} is in use',
  heldBy: '{app} cannot use port {port} on this computer: <b>{holder}</b> is using it.',
  anotherProgram: 'another program',
  anotherPort: 'Another port',
  numberRange: 'A number from 1024 to 65535',
  usePort: 'Use this port',
  useRandom: 'Use a random free port',
} as const

export default en
export const t = defineWords('apps', en)
