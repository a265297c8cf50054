"""What the work on the rooms is given, wired by ``tasks.bootstrap``."""

from dataclasses import dataclass

from search.embedding import Embedder
from search.settings import Settings
from tasks.chat_ports import Homeserver, RoomHistory, WindowIndex
from tasks.context import Store
from tasks.domain.purges import Purge
from tasks.domain.rooms import RoomRules
from tasks.errors import ChatNotSet
from tasks.ports import Scrubber


@dataclass(frozen=True, slots=True)
class RoomContext:
    """Everything that the tasks of one room need.

    ``version`` names what makes passages out of its events (spec 2.1), ``admission`` what decides
    whether it is read at all.
    """

    room: str
    settings: Settings
    homeserver: Homeserver
    history: RoomHistory
    store: Store
    index: WindowIndex
    embedder: Embedder
    scrubber: Scrubber
    rules: RoomRules
    purges: tuple[Purge, ...]
    version: str
    admission: str

    @property
    def source(self) -> str:
        """The source id, ``chat:<room id>``."""
        return f"chat:{self.room}"


@dataclass(frozen=True, slots=True)
class ChatContext:
    """What all rooms share. ``homeserver`` is None when the settings name none."""

    settings: Settings
    store: Store
    index: WindowIndex
    homeserver: Homeserver | None
    embedder: Embedder
    scrubber: Scrubber
    rules: RoomRules
    purges: tuple[Purge, ...]
    version: str
    admission: str

    @property
    def known_homeserver(self) -> Homeserver:
        """The homeserver.

        Raises:
            ChatNotSet: the settings name none.
        """
        if self.homeserver is None:
            raise ChatNotSet
        return self.homeserver

    def room(self, room: str) -> RoomContext:
        """The context of one of them."""
        return RoomContext(
            room=room,
            settings=self.settings,
            homeserver=self.known_homeserver,
            history=self.known_homeserver.room(room),
            store=self.store,
            index=self.index,
            embedder=self.embedder,
            scrubber=self.scrubber,
            rules=self.rules,
            purges=tuple(each for each in self.purges if each.room == room),
            version=self.version,
            admission=self.admission,
        )
