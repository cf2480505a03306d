import type en from '../en/ssh.ts'
import { type Translation } from '../message-types.ts'

export default {
  sshTo: '<name>{name}</name> 세션에 SSH·SFTP로 연결',
  openingTunnel: '연결을 여는 중',
  openingTunnelText: '연결을 여는 중…',
  address: '주소',
  port: '포트',
  user: '사용자',
  hostKey: '호스트 키',
  keyProtects: '이 컴퓨터의 모든 사용자가 이 포트에 접속을 시도할 수 있지만, 키로 보호됩니다.',
  stays: '로그아웃하거나 Berth가 멈출 때까지 연결이 열려 있습니다.',
  staysInApp: '로그아웃하거나 앱을 종료할 때까지 연결이 열려 있습니다. 앱은 종료하기 전에 묻습니다.',
  howProtected: '보호 방법',
  copyRemoved: '연결이 닫히면 Berth가 가진 키의 사본을 제거합니다.',
  settingsAt: '선호 포트와 ~/.ssh/config 항목은 <link>설정</link>에 있습니다.',
  facts: '다른 프로그램용 정보',
  privateKey: '이 세션의 개인 키',
  keyOpenssh: 'OpenSSH 키',
  keyPutty: 'PuTTY, WinSCP',
  keyFileZilla: '파일 → 가져오기',
  fileZillaSite: 'FileZilla 사이트',
  keyAbout:
    '이 키로는 이 세션만, 세션이 종료될 때까지만 열 수 있습니다. 키를 다른 사람과 공유하지 마세요. 다른 사용자가 읽을 수 있는 키 파일은 ssh가 거부합니다(<code>chmod 600 id_container</code>).',
  howToConnect: '연결 방법',
  commands: '명령',
  editors: '편집기',
  forwardsInherited:
    '사용자의 ~/.ssh/config가 모든 호스트에 대해, 따라서 이 세션에 대해서도 포트를 전달합니다: <code>{forwards}</code>. 세션의 프로그램이 RemoteForward를 통해 이 컴퓨터의 서비스에 접근할 수 있습니다. 이곳의 명령은 사용자의 파일을 읽지 않습니다. 편집기를 위해서는 이 줄들을 <code>Host * !berth-*</code> 블록으로 옮기세요.',
  hostInConfig:
    '연결이 열려 있는 동안에는 <code>ssh {alias}</code> 명령이면 충분합니다. 호스트가 ~/.ssh/config에 등록되어 있습니다.',
  shell: '셸',
  filesInteractive: '파일(대화형)',
  copyFile: '파일 복사',
  synchroniseFolder: '폴더 동기화',
  psftp: 'PuTTY의 psftp',
  openInVsCode: 'VS Code에서 열기',
  needsExtension:
    '“Remote - SSH” 확장이 필요합니다. ~/.ssh/config를 읽는 다른 편집기에서는 호스트 이름이 <code>{alias}</code>입니다.',
  configElsewhere:
    'VS Code는 실행 중인 컴퓨터의 ~/.ssh/config에서 호스트를 찾는데, 이 콘솔은 그 파일에 쓰지 않습니다. 아래의 주소, 포트, 사용자, 키로 호스트를 추가하세요.',
  stepsFileZilla:
    '<b>FileZilla:</b> 사이트 파일과 id_container를 다운로드하고 파일 → 가져오기를 선택한 다음 “{name}” 사이트에 연결하세요.',
  stepsPutty:
    '<b>PuTTY:</b> Host <code>{host}</code>, 포트 <code>{port}</code>, Connection → Data → 사용자 <code>{user}</code>, SSH → Auth → Credentials → id_container.ppk.',
  stepsWinScp:
    '<b>WinSCP:</b> 같은 값을 사용합니다. 고급 → SSH → 인증 → id_container.ppk. <link>WinSCP에서 열기</link>',
  compareKey: '처음 연결할 때 호스트 키를 아래의 지문과 비교하세요.',
  closeTunnel: '연결 닫기',
  done: '완료',

  settingsTitle: '이 컴퓨터의 SSH와 SFTP',
  unproven:
    'Berth는 이 브라우저가 같은 컴퓨터에서 실행되는지 알지 못합니다. 이를 확인하거나, 확인이 필요 없는 데스크톱 앱이나 <code>berth</code> 명령을 사용하세요.',
  remote:
    '이 브라우저는 Berth와 다른 컴퓨터에서 실행됩니다. SSH 연결을 열고 설정하려면 내 컴퓨터에서 데스크톱 앱이나 <code>berth</code> 명령을 사용하세요.',
  otherAccount:
    'Berth가 이 컴퓨터의 다른 계정으로 실행되므로 SSH 파일을 대신 쓰지 않습니다. 데스크톱 앱이나 <code>berth</code> 명령을 사용하세요.',
  localPort: '로컬 포트',
  anyPort: '비어 있는 포트',
  tryPreferred: '선호 포트 먼저 시도',
  preferredPort: '선호 SSH 포트',
  preferredHint:
    '10000~65000번 포트는 다른 프로그램이 거의 쓰지 않습니다. 선호 포트는 한 번에 한 세션만 사용할 수 있습니다. 포트가 사용 중이면 어떤 프로그램이 쓰는지 알려 주고 비어 있는 포트를 제안합니다.',
  addToConfig: '세션을 ~/.ssh/config에 추가',
  addToConfigHint: '연결이 열려 있는 동안 ssh와 VS Code 같은 편집기에서 세션 이름을 사용할 수 있습니다.',
  saved: '저장했습니다. 열려 있는 연결은 포트를 그대로 사용합니다.',
  portRule: '{lowest}~{highest} 사이의 숫자를 입력하세요',
  openIn: '이 컴퓨터의 프로그램에서 열기',
  inTerminal: '터미널',
  inVsCode: 'VS Code',
  inCursor: 'Cursor',
  inPutty: 'PuTTY',
  inWinScp: 'WinSCP',
  inGateway: 'JetBrains Gateway',
  inFileZilla: 'FileZilla',
  asDrive: '드라이브로 마운트',
} satisfies Translation<typeof en>
