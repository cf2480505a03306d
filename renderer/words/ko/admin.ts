import type en from '../en/admin.ts'
import { type Translation } from '../message-types.ts'

export default {
  administration: '관리',
  notAllowed: '관리자를 위한 페이지입니다',
  forSuperadmins: '최고 관리자만 열 수 있습니다. 최고 관리자에게 문의하거나 다른 페이지로 이동하세요.',
  forAdmins: '관리자에게 문의하거나 다른 페이지로 이동하세요.',

  // Lists
  search: '검색',
  searchIn: '검색: {title}',
  exportCsv: 'CSV로 내보내기',
  loading: '불러오는 중',
  noMatch: '일치하는 항목이 없습니다',
  noMatchText: '모든 검색어와 조건에 맞는 행이 없습니다.',
  allHidden: '활성 항목이 없습니다',
  allHiddenText: '비활성 항목 {count}개가 숨겨져 있습니다.',
  showAll: '모두 보기',
  clearSearch: '검색과 조건 지우기',
  rowCount: '{count, plural, other {#개 행이 일치합니다}}',
  control: '작업',
  state: '상태',
  anyState: '모든 상태',
  active: '활성',
  inactive: '비활성',
  name: '이름',
  description: '설명',
  created: '만든 날짜',
  edit: '편집',
  editOf: '{name} 편집',
  create: '만들기',
  delete: '삭제',
  deleteOf: '{name} 삭제',
  undo: '실행 취소',
  saved: '{name}: 저장했습니다.',
  createdNow: '{name}: 만들었습니다.',
  deletedNow: '{name}: 삭제했습니다.',
  activate: '활성화',
  activateOf: '{name} 활성화',
  deactivate: '비활성화',
  deactivateOf: '{name} 비활성화',
  activatedNow: '{name}: 활성화했습니다.',
  deactivatedNow: '{name}: 비활성화했습니다.',
  alsoEnded: '종료된 세션 포함',

  // Fields
  unlimited: '무제한',
  enterNumber: '정수를 입력하세요',
  atLeast: '{count, number} 이상',
  atMost: '{count, number} 이하',
  enterDuration: '90m, 2h, 7d와 같은 시간을 입력하세요',
  required: '이 항목을 입력하세요',

  // Selected rows of a list
  selectAll: '모두 선택',
  selectOne: '{name} 선택',
  clearSelection: '선택 해제',
  selectedRows: '{count}개 선택됨',

  // Messages to owners of sessions
  message: '메시지',
  messageTitle: '세션 {count}개의 소유자에게 메시지 보내기',
  messageText: '메시지',
  messageHint: '소유자는 알림에서 보낸 사람의 주소와 함께 메시지를 봅니다. 메일이 설정되어 있으면 메일로도 보냅니다.',
  messageEmpty: '메시지를 입력하세요.',
  messageTooLong: '{most, number}자까지 입력할 수 있습니다.',
  messageSend: '보내기',
  messageSent:
    '{count, plural, =0 {세션이 없어 메시지를 받은 사람이 없습니다.} other {소유자 #명에게 메시지를 보냈습니다.}}',

  // Closing a resource group
  closeGroup: '이 그룹 일시 중지',
  closeGroupTitle: '{name} 자원 그룹을 일시 중지할까요?',
  closeGroupText: '새 세션이 시작되지 않고 대기합니다. 실행 중인 세션은 계속됩니다.',
  closeGroupNotice: '사용자에게 보일 메시지 (선택)',
  closeGroupHint: '대기 중인 세션과 세션을 시작하는 곳에 표시합니다. 사유와 기간을 적어 주세요.',
  openGroup: '다시 열기',
  groupOpened: '{name} 그룹에서 세션을 다시 시작합니다.',
  groupPaused: '{name} 그룹에서는 이제 세션이 시작되지 않습니다.',
} satisfies Translation<typeof en>
