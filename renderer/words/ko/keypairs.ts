import type en from '../en/keypairs.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '액세스 키',
  what: '액세스 키와 비밀 키는 스크립트와 다른 프로그램의 요청에 서명합니다. 나와 같은 권한을 가집니다.',
  none: '액세스 키가 없습니다.',
  create: '새 액세스 키',
  createdTitle: '새 액세스 키',
  createdHint: '비밀 키는 지금만 표시됩니다. 나만 읽을 수 있는 곳에 보관하세요.',
  accessKey: '액세스 키',
  secretKey: '비밀 키',
  active: '활성',
  inactive: '비활성',
  lastUsed: '마지막 사용 {when}',
  neverUsed: '사용한 적 없음',
  deactivate: '비활성화',
  activate: '활성화',
  deactivateKey: '{key} 비활성화',
  activateKey: '{key} 활성화',
  removeKey: '{key} 삭제',
  remove: '삭제',
  removeTitle: '액세스 키 {key} 삭제',
  removeText:
    '이 키를 사용하는 프로그램은 더 이상 로그인할 수 없습니다. 세션을 시작한 적이 있는 키는 삭제할 수 없으니 비활성화하세요.',
  loading: '액세스 키를 불러오는 중',
} satisfies Translation<typeof en>
