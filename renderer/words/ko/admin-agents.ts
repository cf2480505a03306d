import type en from '../en/admin-agents.ts'
import { type Translation } from '../message-types.ts'

export default {
  agents: '에이전트',
  name: '이름',
  group: '자원 그룹',
  problems: '문제',
  lastSeen: '마지막 연결',
  version: '버전',
  connected: '연결됨',
  paused: '점검 중',
  lost: '연결 끊김',
  forgotten: '제거됨',
  none: '연결된 에이전트가 없습니다',
  noneText: '에이전트는 Docker가 있는 컴퓨터, 곧 호스트에서 세션을 실행합니다. 명령 한 줄로 추가하세요.',
  join: '호스트 추가',
  pause: '새 세션 시작 중지',
  pauseOf: '{name}에서 새 세션 시작 중지',
  resume: '세션 시작 재개',
  resumeOf: '{name}에서 세션 시작 재개',
  pausedNow: '{name}에서 새 세션을 시작하지 않습니다. 실행 중인 세션은 계속됩니다.',
  resumed: '{name}에서 다시 세션을 시작합니다.',

  // Problems
  lostWhy:
    '에이전트와 연결되지 않았습니다. 컴퓨터가 켜져 있고 에이전트가 실행 중인지 확인하세요. Berth의 인증서가 바뀌었거나 키 없이 복원했다면 에이전트가 예전 인증서를 기대하고 있을 수 있으니 이 컴퓨터를 다시 추가하세요.',
  partlyIsolated: '세션이 일부만 격리됩니다: {why}',
  deviceProblem: '{model}: {problem}',
  strandedLost: '사용할 수 없음: 에이전트가 연결되지 않았습니다.',
  strandedPaused: '사용할 수 없음: 이 에이전트에서 새 세션을 시작하지 않습니다.',
  strandedShares: '나머지는 GPU의 일부를 요청하는 세션에만 줄 수 있습니다.',

  // Joining
  joinTitle: '호스트 추가',
  joinText:
    'Debian 또는 Ubuntu 컴퓨터의 터미널에서 이 한 줄을 실행하세요. sudo 비밀번호를 묻고, Docker가 없으면 설치하며, 이 Berth에서 에이전트를 받아 서비스로 시작합니다.',
  joinLine: '호스트에서 실행할 명령',
  joinUntil:
    '호스트가 {url} 주소에 접속할 수 있어야 합니다. {time}까지 호스트 한 대를 추가할 수 있으니 다른 사람에게 보여 주지 마세요.',
  joinHere:
    '{url} 주소는 Berth가 실행되는 컴퓨터 자신의 주소이므로 이 명령은 그 컴퓨터에서만 쓸 수 있습니다. 다른 컴퓨터를 추가하려면 접속할 수 있는 주소(manager.advertiseUrl)를 TLS와 함께 설정하세요.',
  joinOtherWay: 'Berth가 이미 설치된 경우',
  joinOtherText:
    'berth-server 패키지나 복제본이 설치된 곳에서는 이 명령으로 에이전트를 시작합니다. Docker와 도구 상자 이미지가 있어야 합니다.',
  joinCommand: '명령',
  joinWaiting: '호스트를 기다리는 중…',
  joined: '{name} 호스트가 참여했습니다.',
  showAgent: '에이전트 보기',

  // Page of an agent
  drain: '비우기',
  drained: '실행 중인 세션이 없습니다. 꺼도 됩니다.',
  draining: '{count, plural, other {세션 #개가 아직 실행 중입니다.}} 새 세션은 시작하지 않습니다.',
  tellOwners: '소유자에게 알리기',
  drainMessage: '{name} 호스트를 점검하기 위해 곧 끕니다. 작업을 저장하고 이 호스트의 세션을 종료해 주세요.',
  drainProgress: '비워짐',
  move: '옮기기',
  moveOf: '{name} 옮기기',
  moveTitle: '에이전트 {name}: 다른 자원 그룹으로 옮기기',
  moveText:
    '선택한 그룹에서 대기하는 세션이 이 에이전트에서 시작될 수 있고, {group}의 세션은 더 이상 시작되지 않습니다. 세션이 없어야 하므로 먼저 비우세요.',
  moveWhere: '자원 그룹을 선택하세요.',
  moveNowhere: '다른 자원 그룹이 없습니다.',
  moved: '에이전트 {name}: 이제 {group} 자원 그룹에 속합니다.',
  forget: '제거',
  forgetTitle: '{name} 에이전트를 제거할까요?',
  forgetText:
    '키가 무효가 되며, 다시 추가하지 않으면 돌아올 수 없습니다. {count, plural, =0 {실행 중인 세션이 없습니다.} other {여기에서 실행 중인 세션 #개가 종료됩니다.}}',
  forgottenNow: '{name} 에이전트를 제거했습니다.',
  capacity: '사용량과 전체',
  about: '정보',
  engine: 'Docker Engine',
  isolation: '세션 격리',
  isolationFull: '전체',
  isolationPartial: '일부',
  managers: '매니저',
  id: 'ID',
  gpus: 'GPU',
  sessions: '{count, plural, other {세션 #개}}',
  noSessions: '실행 중인 세션이 없습니다.',
  images: '{count, plural, other {이미지 #개}}',
  noImages: '이미지가 없습니다.',

  // GPUs
  noDevices: 'Berth가 나눠 줄 수 있는 GPU가 없습니다.',
  deviceBroken: '고장',
  inUse: '사용 중',
  free: '사용 가능',
  utilization: '사용률',
  memory: '메모리',
  mode: '할당 방식',
  mode_whole: '전체',
  mode_shared: '나눠서',
  mode_mig: 'MIG 인스턴스',
  modeSet: '{model}: 변경했습니다.',
  share: '{amount}만큼',
  whole: 'GPU 전체',
  isolation_whole: 'GPU 전체를 한 세션이 씁니다.',
  isolation_mig: '하드웨어가 각 부분을 분리합니다.',
  isolation_enforced: '나눈 부분의 메모리 한도를 강제합니다.',
  isolation_accounted: '나눈 부분의 메모리 한도를 강제하지 않습니다.',

  // Containers without a record
  unknown: '기록이 없는 컨테이너',
  unknownText: '이 Berth의 이름이 붙어 있지만 기록이 없는 컨테이너입니다. 세션으로 가져오거나 제거하세요.',
  import: '가져오기',
  imported: '{name}: 다시 세션이 되었습니다.',
  removeContainer: '제거',
  removeContainerTitle: '{name} 컨테이너를 제거할까요?',
  removeContainerText: '컨테이너가 멈추고, 그 안에만 있는 파일은 사라집니다.',
  removedContainer: '{name} 컨테이너를 제거했습니다.',
} satisfies Translation<typeof en>
