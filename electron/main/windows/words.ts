/** Texts of menus and questions, which are outside of the page. The language is that of the page, before its first choice that of the system. */
export type Language = 'en' | 'ko'

const EN = {
  sessions: 'Sessions',
  folders: 'Data & Storage',
  tunnels: 'Tunnels',
  preferences: 'Preferences…',
  changeServer: 'Change Server…',
  quit: 'Quit Berth',
  view: 'View',
  reload: 'Reload',
  actualSize: 'Actual Size',
  zoomIn: 'Zoom In',
  zoomOut: 'Zoom Out',
  fullScreen: 'Full Screen',
  developerTools: 'Developer Tools',
  edit: 'Edit',
  undo: 'Undo',
  redo: 'Redo',
  cut: 'Cut',
  copy: 'Copy',
  paste: 'Paste',
  selectAll: 'Select All',
  window: 'Window',
  minimize: 'Minimize',
  close: 'Close Window',
  help: 'Help',
  showLogs: 'Show Logs',
  information: 'About and Connection Check',
  openBerth: 'Open Berth',
  stopAndQuit: 'Stop and quit',
  trayTip: (sessions: number, tunnels: number) =>
    `Berth: ${count(sessions, 'running session')}, ${count(tunnels, 'open tunnel')}`,
  running: 'Running Sessions',
  openTunnels: 'Open Tunnels',
  open: 'Open',
  terminal: 'Terminal',
  copyAddress: 'Copy Address',
  closeTunnel: 'Close',
  tunnelOf: (app: string, session: string) => `${app} of ${session}`,
  folderPort: 'SFTP of all folders',
  keepRunning: 'Keep running in the background',
  keepRunningQuestion: 'Keep Berth running in the background?',
  cancel: 'Cancel',
  tunnelsCut: (tunnels: number, connections: number) =>
    `${count(tunnels, 'open tunnel')} with ${count(connections, 'connection')} (SSH, SFTP, Jupyter) will be cut.`,
  stackStops: 'The Berth services on this computer will stop, also for other people who use them.',
  checkUpdates: 'Check for Updates…',
  updateReady: (version: string) => `Berth ${version} is ready to install.`,
  installUpdate: (file: string) =>
    `It was downloaded and its signature checked:\n\n${file}\n\nQuit Berth, install it as you installed Berth, and start it again. Sessions keep running.`,
  showFile: 'Show the file',
  later: 'Later',
  upToDate: (version: string) => `Berth ${version} is the newest version.`,
  updateFailed: 'Updates could not be looked for.',
  unknownCertificate: (server: string) => `Trust the certificate of ${server}?`,
  compareFingerprint: (fingerprint: string) =>
    `No authority that this computer knows vouches for it. Somebody on the way could show one of their own.\n\nCompare the fingerprint with the one that the administrator of the server tells you (SHA-256):\n\n${inHalves(fingerprint)}`,
  trustCertificate: 'Trust this certificate',
  sessionsStay: 'Sessions keep running either way, with your unsaved work.',
}
export type Words = typeof EN

const KO: Words = {
  sessions: '세션',
  folders: '데이터 및 저장소',
  tunnels: '터널',
  preferences: '환경설정…',
  changeServer: '서버 변경…',
  quit: 'Berth 종료',
  view: '보기',
  reload: '새로 고침',
  actualSize: '실제 크기',
  zoomIn: '확대',
  zoomOut: '축소',
  fullScreen: '전체 화면',
  developerTools: '개발자 도구',
  edit: '편집',
  undo: '실행 취소',
  redo: '다시 실행',
  cut: '잘라내기',
  copy: '복사',
  paste: '붙여넣기',
  selectAll: '모두 선택',
  window: '창',
  minimize: '최소화',
  close: '창 닫기',
  help: '도움말',
  showLogs: '로그 보기',
  information: '정보 및 연결 확인',
  openBerth: 'Berth 열기',
  stopAndQuit: '중지하고 종료',
  trayTip: (sessions, tunnels) => `Berth: 실행 중인 세션 ${String(sessions)}개, 열린 터널 ${String(tunnels)}개`,
  running: '실행 중인 세션',
  openTunnels: '열린 터널',
  open: '열기',
  terminal: '터미널',
  copyAddress: '주소 복사',
  closeTunnel: '닫기',
  tunnelOf: (app, session) => `${session} 세션의 ${app}`,
  folderPort: '모든 폴더의 SFTP',
  keepRunning: '백그라운드에서 계속 실행',
  keepRunningQuestion: 'Berth를 백그라운드에서 계속 실행할까요?',
  cancel: '취소',
  tunnelsCut: (tunnels, connections) =>
    `열린 터널 ${String(tunnels)}개와 연결 ${String(connections)}개(SSH, SFTP, Jupyter)가 끊어집니다.`,
  stackStops: '이 컴퓨터의 Berth 서비스가 중지되며, 다른 사용자도 사용할 수 없게 됩니다.',
  checkUpdates: '업데이트 확인…',
  updateReady: version => `Berth ${version}을 설치할 수 있습니다.`,
  installUpdate: file =>
    `파일을 내려받고 서명을 확인했습니다.\n\n${file}\n\nBerth를 종료하고 처음 설치한 방법대로 설치한 뒤 다시 시작하세요. 세션은 계속 실행됩니다.`,
  showFile: '파일 보기',
  later: '나중에',
  upToDate: version => `Berth ${version}은 최신 버전입니다.`,
  updateFailed: '업데이트를 확인하지 못했습니다.',
  unknownCertificate: server => `${server}의 인증서를 신뢰할까요?`,
  compareFingerprint: fingerprint =>
    `이 컴퓨터가 아는 인증 기관이 보증하지 않는 인증서입니다. 통신 경로의 누군가가 자신의 인증서를 보여 줄 수도 있습니다.\n\n서버 관리자가 알려 준 지문과 비교하세요(SHA-256):\n\n${inHalves(fingerprint)}`,
  trustCertificate: '이 인증서를 신뢰',
  sessionsStay: '어느 쪽이든 세션은 저장하지 않은 작업과 함께 계속 실행됩니다.',
}

export const wordsOf = (language: Language): Words => (language === 'ko' ? KO : EN)

/** @param locale of the system, e.g. `ko-KR` */
export const languageOf = (locale: string): Language => (locale.toLowerCase().startsWith('ko') ? 'ko' : 'en')

/** Two lines are easier to compare than one. */
const inHalves = (fingerprint: string) => `${fingerprint.slice(0, 48)}\n${fingerprint.slice(48)}`

function count(n: number, noun: string): string {
  return `${String(n)} ${noun}${n === 1 ? '' : 's'}`
}
